/* net.h - writes what it sees, word by word, looking at one place and another of a photo (Xu et al. 2015). */
#ifndef EXAMPLES_CAPTION_NET_H
#define EXAMPLES_CAPTION_NET_H

#include <egret/egret.h>

typedef struct captioner_sizes {
    int64_t channels, words; /* of features, of the vocabulary */
    int64_t embedding, units;
    bool remembers; /* the GRU goes on from its state */
} captioner_sizes;

/* Children "see" (features to the embedding's width), "embedding", "attention", "gru", "hidden", "word". */
eg_module *captioner_new(const captioner_sizes *s);

/* features [N, places, channels] and captions [N, T] that begin with their first word: logits [N, T - 1, words] of the
 * words that follow. As in the tutorial this comes from, the GRU begins from zeros at each word, unless it remembers:
 * the state is only what attention asks with. */
eg_tensor *captioner_forward(eg_module *net, eg_tensor *features, eg_tensor *captions);
/* Where it looked for each of these words, [N, T - 1, places]. */
eg_tensor *captioner_look(eg_module *net, eg_tensor *features, eg_tensor *captions);

/* The sum over the words after the first of their cross entropy's mean over the batch, padding counted as 0. */
eg_tensor *captioner_loss(eg_tensor *logits, eg_tensor *captions);
/* How many words these are, f32, and what such a loss is for each of them; without a gradient. */
eg_tensor *captioner_words(eg_tensor *captions);
eg_tensor *captioner_word_loss(eg_tensor *loss, eg_tensor *captions);

/* Puts features [N, places, channels] into a cache, from which captioner_next, an eg_decode_fn of the net, writes. */
eg_status captioner_see(eg_module *net, eg_tensor *features, eg_cache *cache);
eg_tensor *captioner_next(void *net, eg_tensor *ids, eg_cache *cache);

#endif
