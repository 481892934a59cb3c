/* truetype.c - the one place where the code of stb_truetype, a header, is compiled. */
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb/stb_truetype.h>
