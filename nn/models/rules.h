/* rules.h - maps of names (egret/io.h) as C writes them: a rule for one tensor, and a list. */
#ifndef EGRET_NN_MODELS_RULES_H
#define EGRET_NN_MODELS_RULES_H

#define RULE(theirs, ours, layout) theirs " " ours " " layout "\n"
#define LIST(name, items)          name ": " items "\n"

#endif
