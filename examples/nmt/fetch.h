/* fetch.h - the sentences of the tutorial: Tatoeba's, as manythings.org/anki had them in 2018. */
#ifndef EXAMPLES_NMT_FETCH_H
#define EXAMPLES_NMT_FETCH_H

/* Does what the word on the command line says, which must be get-data: fetches spa-eng.zip into the folder
 * (NULL: egret-data/spa-eng), checks its size and the sum of spa.txt in it, and unpacks it there. The address
 * and the sum may be NULL: the usual ones. Returns main's exit status. */
int get_data(const char *verb, const char *folder, const char *url, const char *sha256, const char *program);

#endif
