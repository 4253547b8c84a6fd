/*
 * index.html: the whole report in one file. No scripts, nothing loaded from elsewhere: the style is inlined
 * and the plots are data URIs, so that it can be mailed, printed and opened without a network. A content
 * security policy in the page says the same to the browser.
 */
#ifndef MTRACE_REPORT_HTML_H
#define MTRACE_REPORT_HTML_H

#include "analyzer/report.h"

/* Writes directory/index.html; call it after report_plot_write(). */
bool report_html_write(const struct report *report, struct error *error);

/* Base64 of `bytes` bytes (RFC 4648, section 4, padded). */
void html_base64(FILE *file, const unsigned char *data, size_t bytes);

#endif
