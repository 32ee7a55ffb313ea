/* Updates records of 64 bytes in place: lseek(2) and write(2), or pwrite(2). */
#include "common.h"
#include <fcntl.h>
#include <unistd.h>

#define RECORDS 65536L /* 4 MiB */

struct record {
    unsigned long number, version, sum[6];
};

static void change(struct record *record, unsigned long number, unsigned long version)
{
    record->number = number;
    record->version = version;
    for (int i = 0; i < 6; i++)
        record->sum[i] = (number + version) * 2654435761u + i;
}

int main(int argc, char **argv)
{
    struct invocation call = parse_arguments(argc, argv);
    struct record record;
    int file = open(call.output, O_WRONLY);
    if (file < 0)
        fail(call.output);
    for (long version = 1; version <= call.count; version++) {
        long number = version * 40503L % RECORDS;
        off_t at = number * (off_t)sizeof record;
        change(&record, number, version);
        if (call.after) {
            if (pwrite(file, &record, sizeof record, at) != sizeof record)
                fail("pwrite");
        } else {
            if (lseek(file, at, SEEK_SET) != at)
                fail("lseek");
            if (write(file, &record, sizeof record) != sizeof record)
                fail("write");
        }
    }
    if (close(file))
        fail(call.output);
    return 0;
}
