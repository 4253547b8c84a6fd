/* A treap: a search tree by address that is a heap by random priorities, and so balanced whatever comes. */
#include "analyzer/regionmap.h"

#include <stdlib.h>

#include "analyzer/array.h"

struct region_node {
	struct region region;
	struct region_node *left, *right;
	uint64_t priority; /* none below has a greater one */
};

bool region_list_add(struct region_list *list, const struct region *region)
{
	if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
		return false;
	list->items[list->count++] = *region;
	return true;
}

/* ---- nodes -------------------------------------------------------------------------------------------- */

/* xorshift64 */
static uint64_t next_random(struct regionmap *map)
{
	uint64_t x = map->random ? map->random : UINT64_C(0x9e3779b97f4a7c15);
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return map->random = x;
}

static struct region_node *node_new(struct regionmap *map, const struct region *region)
{
	struct region_node *node = map->spare;
	if (node)
		map->spare = node->left;
	else
		node = malloc(sizeof *node);
	if (!node)
		return NULL;
	*node = (struct region_node){.region = *region, .priority = next_random(map)};
	map->count++;
	return node;
}

static void node_drop(struct regionmap *map, struct region_node *node)
{
	node->left = map->spare;
	map->spare = node;
	map->count--;
}

/* ---- trees -------------------------------------------------------------------------------------------- */

/* Regions that start below `address` to the left, the others to the right. */
static void tree_split(struct region_node *tree, uint64_t address, struct region_node **left,
		       struct region_node **right)
{
	while (tree) {
		if (tree->region.start < address) {
			*left = tree;
			left = &tree->right;
			tree = tree->right;
		} else {
			*right = tree;
			right = &tree->left;
			tree = tree->left;
		}
	}
	*left = *right = NULL;
}

/* All of `left` lies below `right`. */
static struct region_node *tree_join(struct region_node *left, struct region_node *right)
{
	struct region_node *root, **link = &root;
	while (left && right) {
		if (left->priority > right->priority) {
			*link = left;
			link = &left->right;
			left = left->right;
		} else {
			*link = right;
			link = &right->left;
			right = right->left;
		}
	}
	*link = left ? left : right;
	return root;
}

/* The first one that ends above `address`, or NULL. */
static struct region_node *tree_from(struct region_node *tree, uint64_t address)
{
	struct region_node *found = NULL;
	while (tree) {
		if (tree->region.end > address) {
			found = tree;
			tree = tree->left;
		} else {
			tree = tree->right;
		}
	}
	return found;
}

static struct region_node *tree_last(struct region_node *tree)
{
	while (tree && tree->right)
		tree = tree->right;
	return tree;
}

static struct region_node *tree_first(struct region_node *tree)
{
	while (tree && tree->left)
		tree = tree->left;
	return tree;
}

static struct region_node *without_first(struct regionmap *map, struct region_node *tree)
{
	struct region_node **link = &tree;
	while ((*link)->left)
		link = &(*link)->left;
	struct region_node *first = *link;
	*link = first->right;
	node_drop(map, first);
	return tree;
}

/* ---- adding ------------------------------------------------------------------------------------------- */

static bool same_facts(const struct region *a, const struct region *b)
{
	return a->file == b->file && a->owner == b->owner && a->listed == b->listed && a->state == b->state &&
	       a->settled == b->settled;
}

bool regionmap_put(struct regionmap *map, const struct region *region)
{
	struct region_node *left, *right, *node = NULL;
	tree_split(map->root, region->start, &left, &right);
	struct region_node *before = tree_last(left), *after = tree_first(right);
	bool joins_before =
		before && before->region.end == region->start && same_facts(&before->region, region);
	bool joins_after = after && after->region.start == region->end && same_facts(&after->region, region);
	if (joins_before) {
		before->region.end = joins_after ? after->region.end : region->end;
		if (joins_after)
			right = without_first(map, right);
	} else if (joins_after) {
		after->region.start = region->start;
	} else {
		node = node_new(map, region);
	}
	map->root = tree_join(tree_join(left, node), right);
	return joins_before || joins_after || node;
}

/* ---- taking out --------------------------------------------------------------------------------------- */

static bool list_tree(struct region_node *tree, struct region_list *out)
{
	struct region_node *node;
	for (uint64_t at = 0; (node = tree_from(tree, at)); at = node->region.end)
		if (!region_list_add(out, &node->region))
			return false;
	return true;
}

/* Turns each left child up until there is none: no stack is needed, however the tree looks. */
static void drop_tree(struct regionmap *map, struct region_node *tree)
{
	while (tree) {
		struct region_node *next = tree->left;
		if (next) {
			tree->left = next->right;
			next->right = tree;
		} else {
			next = tree->right;
			node_drop(map, tree);
		}
		tree = next;
	}
}

/* Makes `address` a border between regions where it lies inside of one. */
static bool cut_at(struct regionmap *map, uint64_t address)
{
	struct region_node *left, *right, *node = NULL;
	tree_split(map->root, address, &left, &right);
	struct region_node *before = tree_last(left);
	bool inside = before && before->region.end > address;
	if (inside) {
		struct region rest = before->region;
		rest.start = address;
		node = node_new(map, &rest);
		if (node)
			before->region.end = address;
	}
	map->root = tree_join(tree_join(left, node), right);
	return !inside || node;
}

bool regionmap_cut(struct regionmap *map, uint64_t start, uint64_t end, struct region_list *out)
{
	struct region_node *left, *middle, *right;
	size_t held = out->count;
	if (start >= end)
		return true;
	if (!cut_at(map, start) || !cut_at(map, end))
		return false;
	tree_split(map->root, start, &left, &middle);
	tree_split(middle, end, &middle, &right);
	bool listed = list_tree(middle, out);
	if (listed) {
		drop_tree(map, middle);
		middle = NULL;
	} else {
		out->count = held;
	}
	map->root = tree_join(tree_join(left, middle), right);
	return listed;
}

/* ---- looking ------------------------------------------------------------------------------------------ */

const struct region *regionmap_from(const struct regionmap *map, uint64_t address)
{
	const struct region_node *node = tree_from(map->root, address);
	return node ? &node->region : NULL;
}

const struct region *regionmap_at(const struct regionmap *map, uint64_t address)
{
	const struct region *region = regionmap_from(map, address);
	return region && region->start <= address ? region : NULL;
}

static const char *check_node(const struct region_node *node, const struct region *before)
{
	if (node->region.start >= node->region.end)
		return "a region is empty";
	if (before && before->end > node->region.start)
		return "two regions overlap";
	if (before && before->end == node->region.start && same_facts(before, &node->region))
		return "two neighbours should be one";
	if ((node->left && node->left->priority > node->priority) ||
	    (node->right && node->right->priority > node->priority))
		return "the tree is no heap";
	return NULL;
}

const char *regionmap_check(const struct regionmap *map)
{
	const struct region *before = NULL;
	const struct region_node *node;
	size_t count = 0;
	for (uint64_t at = 0; (node = tree_from(map->root, at)); at = node->region.end, count++) {
		const char *wrong = check_node(node, before);
		if (wrong)
			return wrong;
		before = &node->region;
	}
	return count != map->count ? "the count is wrong" : NULL;
}

void regionmap_clear(struct regionmap *map)
{
	drop_tree(map, map->root);
	while (map->spare) {
		struct region_node *next = map->spare->left;
		free(map->spare);
		map->spare = next;
	}
	*map = (struct regionmap){0};
}
