/* Exports a table as CSV, by stdio without a buffer or with one: setvbuf(3). */
#include "common.h"

static char buffer[1 << 16];

int main(int argc, char **argv)
{
    struct invocation call = parse_arguments(argc, argv);
    FILE *file = fopen(call.output, "w");
    if (!file)
        fail(call.output);
    if (call.after)
        setvbuf(file, buffer, _IOFBF, sizeof buffer);
    else
        setvbuf(file, NULL, _IONBF, 0);
    for (long row = 0; row < call.count; row++) {
        fprintf(file, "%ld", row);
        fputc(',', file);
        fprintf(file, "item %ld", row % 1000);
        fputc(',', file);
        fprintf(file, "%ld.%02ld", row * 7 % 500, row % 100);
        fputc(',', file);
        fputs(row % 2 ? "yes" : "no", file);
        fputc('\n', file);
    }
    if (fclose(file))
        fail(call.output);
    return 0;
}
