/* mkfs.exfat fills the tables of a volume. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    static char sector[512];
    int fd = open("image", O_RDWR | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < 1000; i++) {
        ssize_t written;
        long offset = 4096 + 1024L * i;
        snprintf(sector, sizeof sector, "sector %d", i);
        lseek(fd, offset, SEEK_SET); // old
        written = write(fd, sector, sizeof sector); // old
        written = pwrite(fd, sector, sizeof sector, offset); // new
        if (written != sizeof sector)
            return 1;
    }
    return 0;
}
