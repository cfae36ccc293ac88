/*
 * feed.c - nobody wants the keys, unless an optional folder is there (feed.h).
 */
#include "pg/index/bloomx/build/feed.h"

const BloomxFeed *bloomx_feed = NULL;
