/* A device sends messages to the physical layer through a FIFO. */
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 1000; i++) {
        char header[9], payload[] = "this is what the device sends\n";
        snprintf(header, sizeof header, "%7d:", i % 10000);
        if (write(1, header, 8) < 0 || write(1, payload, sizeof payload - 1) < 0) // old
        struct iovec parts[] = {{header, 8}, {payload, sizeof payload - 1}}; // new
        if (writev(1, parts, 2) < 0) // new
            return 1;
    }
    return 0;
}
