/* numbers.h - numbers in words, English and German: sentences where there are no files. */
#ifndef EXAMPLES_TRANSFORMER_NUMBERS_H
#define EXAMPLES_TRANSFORMER_NUMBERS_H

enum { NUMBERS = 1000000, NUMBER_TEXT = 160 }; /* all of them; bytes of a text at most */

/* n, 0..NUMBERS - 1: "forty-two thousand one hundred seven", "zweiundvierzigtausendeinhundertsieben". */
void number_english(int n, char text[NUMBER_TEXT]);
void number_german(int n, char text[NUMBER_TEXT]);

#endif
