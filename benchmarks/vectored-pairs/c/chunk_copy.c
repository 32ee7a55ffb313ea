/* Copies a file in small chunks or in large ones, again and again. */
#include "common.h"
#include <fcntl.h>
#include <unistd.h>

static char buffer[1 << 16];

int main(int argc, char **argv)
{
    struct invocation call = parse_arguments(argc, argv);
    size_t chunk = call.after ? sizeof buffer : 512;
    for (long copy = 0; copy < call.count; copy++) {
        int from = open(call.input, O_RDONLY);
        int to = open(call.output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ssize_t got;
        if (from < 0 || to < 0)
            fail("open");
        while ((got = read(from, buffer, chunk)) > 0)
            if (write(to, buffer, got) != got)
                fail(call.output);
        if (got < 0)
            fail(call.input);
        close(from);
        if (close(to))
            fail(call.output);
    }
    return 0;
}
