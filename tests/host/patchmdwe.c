/* Runs a program under PR_MDWE_REFUSE_EXEC_GAIN: memory that was writable cannot become executable. Usage:
 * patchmdwe PROGRAM [ARG...]; exit status 77 where the kernel does not know it. */
#include "tests/host/guest.h"

#include <sys/prctl.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
		return 77;
	execvp(argv[1], argv + 1);
	return 78;
}
