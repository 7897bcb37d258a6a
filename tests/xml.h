/* What is written for a browser: whether it is XML, whatever strings are in it. */
#ifndef TESTS_XML_H
#define TESTS_XML_H

#include <stdbool.h>

/* One element, all tags closed in order, entities known, every character allowed. */
bool well_formed(const char *text);

/* How often the words are in it. */
int times(const char *text, const char *words);

#endif
