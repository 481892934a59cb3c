/* by_words.h - the template that TEMPLATE names, for words of 1, 2, 4 and 8 bytes: T is the word, FN(name) name_8,
 * name_16, name_32, name_64. To be included more than once; TEMPLATE is undefined behind it. */
#define T        uint8_t
#define FN(name) name##_8
#include TEMPLATE
#undef T
#undef FN
#define T        uint16_t
#define FN(name) name##_16
#include TEMPLATE
#undef T
#undef FN
#define T        uint32_t
#define FN(name) name##_32
#include TEMPLATE
#undef T
#undef FN
#define T        uint64_t
#define FN(name) name##_64
#include TEMPLATE
#undef T
#undef FN
#undef TEMPLATE
