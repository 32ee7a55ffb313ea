/* The arguments of the programs of the pairs: PROGRAM before|after DIRECTORY COUNT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct invocation {
    int after; /* whether to run the version with the advised change */
    long count;
    char input[4096];
    char output[4096];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct invocation parse_arguments(int argc, char **argv)
{
    struct invocation call = {0};
    if (argc != 4 || (strcmp(argv[1], "before") && strcmp(argv[1], "after"))) {
        fprintf(stderr, "usage: %s before|after DIRECTORY COUNT\n", argv[0]);
        exit(2);
    }
    call.after = !strcmp(argv[1], "after");
    call.count = atol(argv[3]);
    snprintf(call.input, sizeof call.input, "%s/input", argv[2]);
    snprintf(call.output, sizeof call.output, "%s/output", argv[2]);
    return call;
}
