/* fetch.h - the sentences of the tutorial: Tatoeba's, as manythings.org/anki had them in 2018. */
#ifndef EXAMPLES_NMT_FETCH_H
#define EXAMPLES_NMT_FETCH_H

#include <egret/error.h>

/* Fetches spa-eng.zip into the folder, checks its size and the sum of spa.txt in it, and unpacks it there. The address
 * and the sum may be NULL: the usual ones. */
eg_status fetch_sentences(const char *folder, const char *url, const char *sha256);

#endif
