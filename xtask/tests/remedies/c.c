#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef VECTORED
#include <vectored.h>
#endif

#define CASE(text) else if (!strcmp(name, text))
#define PAIRS(call) for (; iov < all + 2 * records; iov += 2) check(call)
#define EACH for (int i = 0; i < records; i++)

enum { HEADER = 7, BODY = 32, RECORD = HEADER + BODY };
static char whole[RECORD * 2000 + 1], bytes[RECORD * 2000 + 65536];

static int to_peer(int type, int port) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, type, 0);
    return connect(fd, (struct sockaddr *)&peer, sizeof peer) ? -1 : fd;
}

static int check(ssize_t moved) {
    if (moved < 0) {
        perror("call");
        exit(1);
    }
    return moved > 0;
}

int main(int words, char **word) {
    if (words != 5)
        return 2;
    const char *name = word[1], *path = word[2];
    int port = atoi(word[3]), records = atoi(word[4]), fd = -1;
    size_t length = 0, part = 39;
    for (int i = 0; i < records; i++)
        sprintf(whole + i * RECORD, "record %031d\n", i);
    if (strstr(name, "unix") || strstr(name, "tcp") || strstr(name, "pipe"))
        fd = to_peer(SOCK_STREAM, port);
    else if (strstr(name, "datagrams"))
        fd = to_peer(SOCK_DGRAM, port);
    else
        fd = open(path, strstr(name, "read") ? O_RDONLY : O_RDWR | O_CREAT, 0666);
    check(fd);
    struct iovec all[4000], *iov = all;
    int count = 2;
    EACH {
        all[2 * i] = (struct iovec){"record ", HEADER};
        all[2 * i + 1] = (struct iovec){whole + i * RECORD + HEADER, BODY};
    }
#ifdef VECTORED
    struct vectored_gather *gather = vectored_gather_new();
#endif

    if (0)
        ;
    CASE("adjacent-writes/file#stream 0") {
        FILE *stream = fdopen(fd, "w");
        EACH fwrite(whole + i * RECORD, 1, RECORD, stream);
        fclose(stream);
    }
    CASE("adjacent-writes/file#stream 1") {
        FILE *stream = fdopen(fd, "w");
        static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer);
        EACH fwrite(whole + i * RECORD, 1, RECORD, stream);
        fflush(stream);
        _exit(0);
    }
    CASE("adjacent-writes/file#own 0") EACH check(write(fd, whole + i * RECORD, RECORD));
    CASE("adjacent-writes/file#own 1") {
        static char buffer[65536];
        size_t used = 0;
        EACH {
            if (used + RECORD > sizeof buffer) {
                check(write(fd, buffer, used));
                used = 0;
            }
            memcpy(buffer + used, whole + i * RECORD, RECORD);
            used += RECORD;
        }
        check(write(fd, buffer, used));
        _exit(0);
    }
    CASE("adjacent-writes/file 0") for (int i = 0; i < 2 * records; i++)
            check(write(fd, all[i].iov_base, all[i].iov_len));
    CASE("adjacent-writes/file 1") PAIRS(writev(fd, iov, count));
    CASE("adjacent-writes/unix 0") for (int i = 0; i < 2 * records; i++)
            check(send(fd, all[i].iov_base, all[i].iov_len, 0));
    CASE("adjacent-writes/unix 1") {
        for (; iov < all + 2 * records; iov += 2) {
            struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
            int flags = 0;
            check(sendmsg(fd, &message, flags));
        }
    }
    CASE("adjacent-writes/unix 2") PAIRS(writev(fd, iov, count));
    CASE("adjacent-writes/unix 4") {
        static char buffer[65536];
        size_t used = 0;
        EACH {
            if (used + RECORD > sizeof buffer) {
                check(write(fd, buffer, used));
                used = 0;
            }
            memcpy(buffer + used, whole + i * RECORD, RECORD);
            used += RECORD;
        }
        check(write(fd, buffer, used));
    }
    CASE("no-delay/tcp 1") {
        int on = 1;
        check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
        PAIRS(writev(fd, iov, count));
    }
    CASE("quick-ack/tcp 1") {
        int on = 1;
        check(setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on));
        PAIRS(writev(fd, iov, count));
    }
    CASE("small-reads/file#stream 0") {
        FILE *stream = fdopen(fd, "r");
        while (fread(bytes + length, 1, RECORD, stream) == RECORD)
            length += RECORD;
    }
    CASE("small-reads/file#stream 1") {
        FILE *stream = fdopen(fd, "r");
        static char buffer[65536]; setvbuf(stream, buffer, _IOFBF, sizeof buffer);
        while (fread(bytes + length, 1, RECORD, stream) == RECORD)
            length += RECORD;
    }
    CASE("small-reads/file 0") while (check(read(fd, bytes + length, RECORD)))
            length += RECORD;
    CASE("small-reads/file 1") {
        ssize_t got;
        for (char *buffer = bytes; check(got = read(fd, buffer, 65536)); buffer += got)
            length += got;
    }
    CASE("small-reads/pipe 0") while (check(recv(fd, bytes, RECORD, MSG_WAITALL)))
            check(write(1, bytes, RECORD));
    CASE("small-reads/pipe 1") {
        ssize_t got;
        for (char *buffer = bytes; check(got = recv(fd, buffer, 65536, 0));)
            check(write(1, buffer, got));
    }
    CASE("positional-writes/file 0") for (int i = 0, offset = 0; i < 2 * records; offset += all[i++].iov_len)
            check(pwrite(fd, all[i].iov_base, all[i].iov_len, offset));
    CASE("positional-writes/file 1") for (int offset = 0; iov < all + 2 * records; iov += 2, offset += RECORD)
            check(pwritev(fd, iov, count, offset));
    CASE("positional-reads/file 0") while (check(pread(fd, bytes + length, RECORD, length)))
            length += RECORD;
    CASE("positional-reads/file 1") {
        for (long offset = 0; offset < records * RECORD; offset += 2 * RECORD, length += 2 * RECORD) {
            struct iovec iov[] = {{bytes + offset, RECORD}, {bytes + offset + RECORD, RECORD}};
            check(preadv(fd, iov, count, offset));
        }
    }
    CASE("seek-then-transfer/file 0") {
        EACH {
            check(lseek(fd, i * RECORD, SEEK_SET));
            check(write(fd, whole + i * RECORD, RECORD));
        }
    }
    CASE("seek-then-transfer/file 1") {
        EACH {
            long offset = i * RECORD;
            char *data = whole + offset;
            size_t count = part;
            check(pwrite(fd, data, count, offset));
        }
    }
    CASE("seek-then-transfer/file#read 0") {
        for (; length < (size_t)records * RECORD; length += RECORD) {
            check(lseek(fd, length, SEEK_SET));
            check(read(fd, bytes + length, RECORD));
        }
    }
    CASE("seek-then-transfer/file#read 1") {
        for (; length < (size_t)records * RECORD; length += RECORD) {
            char *data = bytes + length;
            size_t count = part, offset = length;
            check(pread(fd, data, count, offset));
        }
    }
    CASE("tiny-segments/file 0") for (; iov < all + 2 * records; iov += 20)
            check(writev(fd, iov, 20));
    CASE("tiny-segments/file 1") {
        for (; iov < all + 2 * records; iov += 20) {
            size_t joined = 0;
            for (int i = 0; i < 20; joined += iov[i++].iov_len)
                memcpy(bytes + joined, iov[i].iov_base, iov[i].iov_len);
            check(write(fd, bytes, joined));
        }
    }
    CASE("sync-each/file 0") {
        EACH {
            check(write(fd, whole + i * RECORD, RECORD));
            check(fdatasync(fd));
        }
    }
    CASE("sync-each/file 1") {
        EACH check(write(fd, whole + i * RECORD, RECORD));
        check(fdatasync(fd));
    }
    CASE("datagrams/file 0") {
        EACH check(send(fd, whole + i * RECORD, RECORD, 0));
    }
    CASE("datagrams/file 2") {
        struct mmsghdr messages[200] = {0};
        EACH messages[i].msg_hdr = (struct msghdr){.msg_iov = all + 2 * i, .msg_iovlen = 2};
        count = records;
        return syscall(SYS_sendmmsg, fd, messages, count, 0) != count;
    }
#ifdef VECTORED
    CASE("datagrams/file 1") {
        struct mmsghdr messages[200] = {0};
        EACH messages[i].msg_hdr = (struct msghdr){.msg_iov = all + 2 * i, .msg_iovlen = 2};
        count = records;
        return sendmmsg(fd, messages, count, 0) != count;
    }
    CASE("adjacent-writes/file 2") PAIRS(vectored_gather_write_all(gather, fd, iov, count, NULL));
    CASE("adjacent-writes/unix 3") PAIRS(vectored_gather_write_all(gather, fd, iov, count, NULL));
    CASE("positional-writes/file 2") for (int offset = 0; iov < all + 2 * records; iov += 2, offset += RECORD)
            check(vectored_pwrite_all(fd, iov, count, offset, NULL));
    CASE("tiny-segments/file 2") for (count = 20; iov < all + 2 * records; iov += 20)
            check(vectored_gather_write_all(gather, fd, iov, count, NULL));
#endif
    else
        return 2;
    return fwrite(bytes, 1, length, stdout) != length;
}
