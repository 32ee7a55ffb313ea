/*
 * vectored.h: write and read lists of segments (struct iovec) completely.
 *
 * writev(2) and readv(2) may stop in the middle of a segment, refuse more than IOV_MAX segments, move at most about
 * 2 GiB, and are interrupted by signals. The functions here handle all of that: they move the whole list, or say how much of
 * it they moved.
 *
 * Which function?
 *
 *   all of a list to a blocking descriptor            vectored_gather_write_all, or vectored_write_all
 *   to a non-blocking descriptor                      vectored_gather_resume_write, or vectored_resume_write
 *   at an offset of a file                            vectored_gather_pwrite_all, or vectored_pwrite_all
 *   a record that must be one system call             vectored_write_once
 *   many messages of a connection by few calls        vectored_queue_put, vectored_queue_push, vectored_queue_write_some
 *   fill a list                                       vectored_scatter_read_exact, or vectored_read_exact
 *   records, header and payload, until the end        vectored_scatter_read_exact; ENODATA with *done 0 is the end
 *   from a non-blocking descriptor                    vectored_scatter_resume_read, or vectored_resume_read
 *
 * Functions with a gather or scatter handle copy short segments together, which is faster if segments have up to a few
 * hundred bytes. The others need no handle and copy nothing.
 *
 * Compile with `cc program.c $(pkg-config --cflags --libs vectored)`. If the library is not installed in a folder of the
 * system, set PKG_CONFIG_PATH to its lib/pkgconfig before, and LD_LIBRARY_PATH to its lib when the program runs. Statically:
 * `cc -static program.c $(pkg-config --static --cflags --libs vectored)`. The header is C99 and C++11.
 *
 * Example: write a list to a non-blocking descriptor. Returns 0, or -1 with errno.
 *
 *   #include <errno.h>
 *   #include <poll.h>
 *   #include <vectored.h>
 *
 *   // Keep the handle of vectored_gather_new() for further lists; free it with vectored_gather_free().
 *   int send_list(vectored_gather *gather, int fd, const struct iovec *iov, size_t iovcnt)
 *   {
 *       vectored_cursor cursor = {0, 0};                  // the start of the list
 *       while (vectored_gather_resume_write(gather, fd, iov, iovcnt, &cursor, NULL) < 0) {
 *           if (errno != EAGAIN)
 *               return -1;                                // the list is written up to the cursor
 *           struct pollfd ready = {fd, POLLOUT, 0};
 *           if (poll(&ready, 1, -1) < 0 && errno != EINTR)
 *               return -1;
 *       }
 *       return 0;
 *   }
 *
 * Rules of all functions:
 *
 * Lists. A list is `iovcnt` segments at `iov`, as many as you like: more than IOV_MAX is fine. `iov` is never changed. Empty
 * segments are allowed everywhere, also with a NULL `iov_base`, and never reach the kernel. `iov` may be NULL if `iovcnt` is 0.
 * A segment of more than SSIZE_MAX bytes, and an `iovcnt` that no array has, such as (size_t)-1, is EINVAL. If there is
 * nothing to move, since the list is empty or the cursor at its end, a function returns 0 without a system call: it finds out
 * that a descriptor is negative, but not that it is closed or open for something else.
 * Until the function returns, no other thread may change `iov` or free a segment. If another thread changes the bytes of a
 * segment that is being written, it is unspecified which of them are written. Segments to read into must not overlap.
 *
 * Result. Functions that move bytes return their number. On an error they return -1 and set errno; errno is
 * unspecified after a success. `*done` is set to 0 first, and on return, with or without an error, it is the number of bytes
 * that this call moved: always the first bytes of the list, or the first after the cursor. `done` may be NULL.
 *
 * EINTR never occurs: an interrupted system call is made again, so that a signal handler cannot end a call that waits. To end a
 * transfer at a signal or after a time, use a descriptor with O_NONBLOCK, and wait by poll(2), which a signal ends and which has
 * a time limit. Sockets have SO_SNDTIMEO and SO_RCVTIMEO, too. EAGAIN (EWOULDBLOCK) occurs on descriptors with O_NONBLOCK
 * and on sockets with a timeout. EFAULT: a pointer is NULL that must not be. EBADF: a negative descriptor.
 * ENOTRECOVERABLE: a defect of this library, which has printed a message on standard error; `*done` is 0 then, and
 * nothing is known about what was moved.
 *
 * SIGPIPE. If the reader of a pipe or socket is gone, writing raises SIGPIPE, as write(2) does, which ends the process unless
 * the signal is ignored: signal(SIGPIPE, SIG_IGN). The error is EPIPE then. In the same way, a file that would grow beyond
 * RLIMIT_FSIZE raises SIGXFSZ; if that is ignored, the error is EFBIG.
 *
 * Threads. Functions without a handle may be called by any threads. A gather, scatter or queue handle may be used by one
 * thread at a time, and by different threads one after another; a cost model by several threads. No function
 * may be called from a signal handler, nor left by a longjmp out of one. A thread that is in a function must not be cancelled:
 * disable that by pthread_setcancelstate(3) if your program cancels threads. After fork(2) the child may use its copies of all
 * handles.
 *
 * A list that takes several system calls is not atomic: other writers to the same descriptor may write between them.
 *
 * Memory. A function that needs memory for a handle or for the bytes of a queue fails with errno ENOMEM if there is none. A
 * gather handle without memory for its buffer copies nothing. Only without memory for the bookkeeping of a call, of up to 16 KiB,
 * or of the records of a queue, the process is aborted.
 */

#ifndef VECTORED_H
#define VECTORED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/**
 * The version of the header: `MAJOR.MINOR.PATCH`. `vectored_version` returns the version of the library.
 */
#define VECTORED_VERSION_MAJOR 0

/**
 * See `VECTORED_VERSION_MAJOR`.
 */
#define VECTORED_VERSION_MINOR 1

/**
 * See `VECTORED_VERSION_MAJOR`.
 */
#define VECTORED_VERSION_PATCH 0

/**
 * What a descriptor refers to, as far as costs differ.
 */
typedef enum vectored_target {
  /**
   * Another kind, or an unknown one. Calibration writes to /dev/null.
   */
  VECTORED_OTHER = 0,
  /**
   * A regular file that is appended to.
   */
  VECTORED_FILE = 1,
  /**
   * A regular file that is overwritten.
   */
  VECTORED_FILE_OVERWRITE = 2,
  /**
   * A pipe or FIFO.
   */
  VECTORED_PIPE = 3,
  /**
   * A Unix stream socket.
   */
  VECTORED_UNIX = 4,
  /**
   * A TCP socket.
   */
  VECTORED_TCP = 5,
} vectored_target;

/**
 * The costs of a call, a segment and a byte. They decide which segments are copied; all bytes are written with any model.
 * A model does not change, so threads may share it. Free it with `vectored_cost_model_free`.
 */
typedef struct vectored_cost_model vectored_cost_model;

/**
 * Writes lists with short segments faster than writev(2): it copies runs of short segments into a buffer that it owns, and
 * references long segments, in the same system call.
 *
 * Make one with `vectored_gather_new` or `vectored_gather_with_model`, keep it, and use it for all lists of a thread, to any
 * descriptors; free it with `vectored_gather_free`. The first list that is copied allocates the buffer of 256 KiB;
 * further lists allocate nothing. It keeps no bytes of a list when a function returns.
 *
 * Copied bytes are not wiped from the buffer, neither after a call nor when it is freed.
 */
typedef struct vectored_gather vectored_gather;

/**
 * A queue of bytes that a connection or a log owns. A program puts messages in, and one system call then writes many.
 *
 * The queue owns its bytes and its position: bytes that were written are gone from it, and no others, whether a call
 * succeeds or fails. So after EAGAIN nothing needs to be remembered: wait until the descriptor is ready, and write again.
 *
 * Make it with `vectored_queue_new` or `vectored_queue_for_target`, and free it with `vectored_queue_free`.
 */
typedef struct vectored_queue vectored_queue;

/**
 * Reads lists with short segments faster than readv(2): it reads runs of short segments into a buffer that it owns, and
 * copies them from there.
 *
 * Keep the handle for all lists of a thread, and free it with `vectored_scatter_free`. It holds no bytes when a
 * function returns: what was read is in your segments.
 */
typedef struct vectored_scatter vectored_scatter;

/**
 * A position in a list of segments. `{0, 0}` is the start of a list.
 *
 * It is all that has to be kept of a transfer that stopped, for example because a non-blocking descriptor is full: pass
 * it again with the same list, and the transfer goes on. At the end of a list, `segment` is the number of segments.
 *
 * It is plain data and holds no pointer: copy it, or set its members. Segments may be added at the end of the list.
 * If the first `k` segments, all of them moved, are removed from the list, subtract `k` from `segment`.
 */
typedef struct vectored_cursor {
  /**
   * The index of the segment with the next byte.
   */
  size_t segment;
  /**
   * The number of bytes of that segment that were moved.
   */
  size_t offset;
} vectored_cursor;

/**
 * A function that a queue calls once for a segment of `vectored_queue_push`, with the `context` that was passed with it.
 *
 * It must not call a function of the same queue, and must not leave by longjmp, pthread_exit or a C++ exception.
 */
typedef void (*vectored_release)(void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library that the program runs with: `MAJOR * 1000000 + MINOR * 1000 + PATCH`. With
 * the shared library it may be newer than the header.
 */
int vectored_version(void);

/**
 * Returns the version as text, such as "0.1.0". The text is static: do not free it.
 */
const char *vectored_version_string(void);

/**
 * Writes all segments in order, and returns their bytes. Nothing is copied.
 *
 * Errors (-1 and errno, with the bytes written before in `*done`):
 *
 * EAGAIN: a non-blocking descriptor is full, or the SO_SNDTIMEO of a socket has passed. Use `vectored_resume_write`, which
 * can be resumed, if you expect that. To go on here, advance a cursor by `*done`: the same call would write those bytes
 * again.
 *
 * EBADF: `fd` is negative, or not open for writing.
 *
 * EFAULT: `iov` is NULL and `iovcnt` is not 0; no byte is written. Or the kernel cannot read the memory of a segment of 1
 * byte or more, for example because its `iov_base` is NULL; some bytes may be written.
 *
 * EINVAL: a segment has more than SSIZE_MAX bytes, or the descriptor is a socket that keeps messages apart (SOCK_DGRAM,
 * SOCK_SEQPACKET) and the list is not exactly one message: use `vectored_write_once`. No byte is written.
 *
 * EIO: a call wrote no byte and returned no error.
 *
 * EPIPE (if SIGPIPE is ignored), ENOSPC, and all others of write(2), but never EINTR.
 */
ssize_t vectored_write_all(int fd,
                           const struct iovec *iov,
                           size_t iovcnt,
                           size_t *done);

/**
 * Writes from `cursor` to the end of the list, and returns the bytes of this call.
 *
 * Writes like `vectored_write_all`, but can be resumed: whether it succeeds or fails, `cursor` has moved by exactly
 * the bytes that were written. After EAGAIN, wait until the descriptor is ready, with poll(2), and call it again
 * with the same list and cursor. With a cursor at the end of the list it returns 0 and makes no system call.
 *
 * Errors: as `vectored_write_all`; EFAULT if `cursor` is NULL; EINVAL if it is outside of the list.
 */
ssize_t vectored_resume_write(int fd,
                              const struct iovec *iov,
                              size_t iovcnt,
                              struct vectored_cursor *cursor,
                              size_t *done);

/**
 * Writes all segments in order into a file at `offset`, and returns their bytes. The file's own position is neither used
 * nor moved.
 *
 * To resume after an error, write what is left of the list at `offset` + `*done`. `vectored_cursor_advance` finds the segment
 * and the byte. No function takes a cursor and an offset: pass a copy of the array from that segment on, whose first
 * segment begins at that byte, or move the file's position by lseek(2) and go on with `vectored_resume_write`.
 * Through a descriptor with O_APPEND, Linux appends whatever the offset is ("BUGS" of pwrite(2)).
 *
 * Errors: as `vectored_write_all`; EINVAL if `offset` is negative, or if the last byte would lie at the largest offset or
 * past it; ESPIPE on a pipe or socket.
 */
ssize_t vectored_pwrite_all(int fd,
                            const struct iovec *iov,
                            size_t iovcnt,
                            int64_t offset,
                            size_t *done);

/**
 * Writes all segments in exactly one system call, or fails: for lines of a log with several writers (O_APPEND), records
 * of up to PIPE_BUF bytes on a pipe with several writers, and messages on a SOCK_DGRAM or SOCK_SEQPACKET socket.
 *
 * Empty segments do not count. If all are empty, it makes no call and returns 0: send an empty message with send(2).
 *
 * Errors: as `vectored_write_all`, and
 *
 * EINVAL: one call cannot take the list, which has more than IOV_MAX segments, more than 0x7ffff000 bytes, or on a pipe
 * more than PIPE_BUF bytes. No byte is written.
 *
 * EIO: the call was short, and `*done` bytes of the record are written. No second call is made, and the first cannot
 * be undone. Causes are a full disk, a non-blocking stream socket, and a signal during a long write.
 *
 * EOPNOTSUPP: the driver takes no lists. Copy the record into one segment. No byte is written.
 *
 * After EAGAIN no byte is written: try the whole record again.
 */
ssize_t vectored_write_once(int fd,
                            const struct iovec *iov,
                            size_t iovcnt,
                            size_t *done);

/**
 * Reads into all segments in order until they are full, and returns their bytes. Bytes after them stay in the stream.
 *
 * Errors (-1 and errno, with the bytes read before in `*done`; they are in the first segments, and the content of the rest is
 * unspecified):
 *
 * ENODATA: the file or stream ended before the list was full. If `*done` is 0, it ended before the list, as a stream of
 * records does after the last one. If an earlier end is no error, use `vectored_read_up_to_eof`.
 *
 * EAGAIN: a non-blocking descriptor is empty, or the SO_RCVTIMEO of a socket has passed. `vectored_resume_read` can be
 * resumed, here from a cursor that is advanced by `*done`.
 *
 * EINVAL: the descriptor is a socket that keeps messages apart (use recvmsg(2)), or a segment has more than SSIZE_MAX bytes.
 *
 * EBADF: `fd` is negative, or not open for reading.
 *
 * EFAULT: `iov` is NULL and `iovcnt` is not 0, or `iov_base` of a segment of 1 byte or more is NULL; no byte is read. Or the
 * kernel cannot write to the memory of a segment.
 *
 * ENOMEM: there is no memory for a copy of the array `iov`. No byte is read.
 *
 * All others of read(2), but never EINTR.
 */
ssize_t vectored_read_exact(int fd,
                            const struct iovec *iov,
                            size_t iovcnt,
                            size_t *done);

/**
 * Reads from `cursor` on until the segments are full, and returns the bytes of this call.
 *
 * Reads like `vectored_read_exact`, but can be resumed, like `vectored_resume_write`: whether it succeeds or fails,
 * `cursor` has moved by exactly the bytes that were read.
 *
 * Errors: as `vectored_read_exact`; EFAULT if `cursor` is NULL; EINVAL if it is outside of the list.
 */
ssize_t vectored_resume_read(int fd,
                             const struct iovec *iov,
                             size_t iovcnt,
                             struct vectored_cursor *cursor,
                             size_t *done);

/**
 * Reads into the segments in order until they are full or the file ends, and returns the bytes read. If they are fewer than
 * the segments have, the file or stream has ended.
 *
 * Errors: as `vectored_read_exact`, without ENODATA.
 */
ssize_t vectored_read_up_to_eof(int fd,
                                const struct iovec *iov,
                                size_t iovcnt,
                                size_t *done);

/**
 * Reads into all segments in order from `offset` of a file on, and returns their bytes. The file's own position is neither
 * used nor moved.
 *
 * Errors: as `vectored_read_exact`; EINVAL if `offset` is negative, or if the list would end past the largest offset;
 * ESPIPE on a pipe or socket.
 */
ssize_t vectored_pread_exact(int fd,
                             const struct iovec *iov,
                             size_t iovcnt,
                             int64_t offset,
                             size_t *done);

/**
 * Reads like `vectored_pread_exact` until the segments are full or the file ends. Returns the bytes read, which are
 * 0 if the file ends at `offset` or before it.
 *
 * Errors: as `vectored_pread_exact`, without ENODATA.
 */
ssize_t vectored_pread_up_to_eof(int fd,
                                 const struct iovec *iov,
                                 size_t iovcnt,
                                 int64_t offset,
                                 size_t *done);

/**
 * Returns the number of bytes from `cursor` to the end of the list, or SSIZE_MAX if there are more, which a list can have that
 * names the same memory several times.
 *
 * Errors (-1 and errno): EFAULT if `cursor` is NULL, or if `iov` is NULL and `iovcnt` is not 0; EINVAL if the cursor is outside of
 * the list.
 */
ssize_t vectored_cursor_remaining_bytes(const struct vectored_cursor *cursor,
                                        const struct iovec *iov,
                                        size_t iovcnt);

/**
 * Moves `cursor` forward by `bytes`, which were written or read by other means, such as a sendmsg(2) of your own. Returns 0.
 *
 * Errors (-1 and errno; the cursor has not moved): as `vectored_cursor_remaining_bytes`; EINVAL if fewer bytes remain.
 */
int vectored_cursor_advance(struct vectored_cursor *cursor,
                            const struct iovec *iov,
                            size_t iovcnt,
                            size_t bytes);

/**
 * Returns a new gather handle, or NULL with errno ENOMEM. Free it with `vectored_gather_free`.
 */
struct vectored_gather *vectored_gather_new(void);

/**
 * Returns a new gather handle with a cost model that decides which segments are copied. Take the model of the kind
 * of descriptor that is written to. It is copied, and may be freed.
 *
 * Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
 */
struct vectored_gather *vectored_gather_with_model(const struct vectored_cost_model *model);

/**
 * Frees a gather handle. NULL is allowed. errno is kept.
 */
void vectored_gather_free(struct vectored_gather *gather);

/**
 * Writes all segments in order, and returns their bytes.
 *
 * Writes like `vectored_write_all`, but copies short segments, as by memcpy(3). If this process cannot read the
 * memory of such a segment, for example because its `iov_base` is NULL, it gets the signal SIGSEGV, and not the
 * error EFAULT: checking each segment would cost time in each call.
 *
 * Errors: as `vectored_write_all`; EFAULT if `gather` is NULL. After an error the handle can be used again.
 */
ssize_t vectored_gather_write_all(struct vectored_gather *gather,
                                  int fd,
                                  const struct iovec *iov,
                                  size_t iovcnt,
                                  size_t *done);

/**
 * Writes from `cursor` to the end of the list, and returns the bytes of this call.
 *
 * Writes like `vectored_resume_write`, but copies short segments. Copied bytes are not kept: if the transfer stops,
 * `cursor` points to the rest of your list, and any handle, or `vectored_resume_write`, may go on with it.
 *
 * Errors: as `vectored_resume_write`; EFAULT if `gather` is NULL.
 */
ssize_t vectored_gather_resume_write(struct vectored_gather *gather,
                                     int fd,
                                     const struct iovec *iov,
                                     size_t iovcnt,
                                     struct vectored_cursor *cursor,
                                     size_t *done);

/**
 * Writes all segments in order into a file at `offset`, and returns their bytes.
 *
 * Writes like `vectored_pwrite_all`, but copies short segments.
 *
 * Errors: as `vectored_pwrite_all`; EFAULT if `gather` is NULL.
 */
ssize_t vectored_gather_pwrite_all(struct vectored_gather *gather,
                                   int fd,
                                   const struct iovec *iov,
                                   size_t iovcnt,
                                   int64_t offset,
                                   size_t *done);

/**
 * Returns a new scatter handle, or NULL with errno ENOMEM. Free it with `vectored_scatter_free`.
 */
struct vectored_scatter *vectored_scatter_new(void);

/**
 * Returns a new scatter handle with a cost model, which is copied.
 *
 * Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
 */
struct vectored_scatter *vectored_scatter_with_model(const struct vectored_cost_model *model);

/**
 * Frees a scatter handle. NULL is allowed. errno is kept.
 */
void vectored_scatter_free(struct vectored_scatter *scatter);

/**
 * Reads into all segments in order until they are full, and returns their bytes.
 *
 * Errors: as `vectored_read_exact`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_read_exact(struct vectored_scatter *scatter,
                                    int fd,
                                    const struct iovec *iov,
                                    size_t iovcnt,
                                    size_t *done);

/**
 * Reads from `cursor` on until the segments are full, and returns the bytes of this call. As `vectored_resume_read`.
 *
 * Errors: as `vectored_resume_read`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_resume_read(struct vectored_scatter *scatter,
                                     int fd,
                                     const struct iovec *iov,
                                     size_t iovcnt,
                                     struct vectored_cursor *cursor,
                                     size_t *done);

/**
 * Reads into the segments in order until they are full or the file ends, and returns the bytes read. As
 * `vectored_read_up_to_eof`.
 *
 * Errors: as `vectored_read_up_to_eof`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_read_up_to_eof(struct vectored_scatter *scatter,
                                        int fd,
                                        const struct iovec *iov,
                                        size_t iovcnt,
                                        size_t *done);

/**
 * Reads into all segments in order from `offset` of a file on, and returns their bytes. As `vectored_pread_exact`.
 *
 * Errors: as `vectored_pread_exact`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_pread_exact(struct vectored_scatter *scatter,
                                     int fd,
                                     const struct iovec *iov,
                                     size_t iovcnt,
                                     int64_t offset,
                                     size_t *done);

/**
 * Reads like `vectored_scatter_pread_exact` until the segments are full or the file ends. Returns the bytes read,
 * like `vectored_pread_up_to_eof`.
 *
 * Errors: as `vectored_pread_up_to_eof`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_pread_up_to_eof(struct vectored_scatter *scatter,
                                         int fd,
                                         const struct iovec *iov,
                                         size_t iovcnt,
                                         int64_t offset,
                                         size_t *done);

/**
 * Returns the default model for a kind of descriptor, one of `enum vectored_target`. Free it with
 * `vectored_cost_model_free`.
 *
 * Errors (NULL and errno): EINVAL if `target` is none of them, ENOMEM.
 */
struct vectored_cost_model *vectored_cost_model_for_target(int target);

/**
 * Measures a model on this machine, on descriptors that the function makes and closes, for about `budget_ms` milliseconds
 * (50 are enough on an idle machine). Free it with `vectored_cost_model_free`.
 *
 * `target` is one of `enum vectored_target`. For the files, `directory` is where an unnamed file of up to 16 MiB is made;
 * for all others it is not used and may be NULL.
 *
 * Errors (NULL and errno): EINVAL if `target` is none of them, EFAULT if `directory` is NULL and `target` is a file, ENOMEM,
 * and the errors of the system calls that make and write the descriptors.
 */
struct vectored_cost_model *vectored_cost_model_calibrate(int target,
                                                          const char *directory,
                                                          unsigned int budget_ms);

/**
 * Reads the model of a target from a result that `vectored measure --format json` printed on this type of machine: the one that was
 * calibrated before the run. Free it with `vectored_cost_model_free`.
 *
 * `target` is one of `enum vectored_target`; VECTORED_OTHER has the model of `--target null`.
 *
 * Errors (NULL and errno): EINVAL if `target` is none of them, EFAULT if `path` is NULL, EBADMSG if the file is no such result
 * or has no calibrated model of the target, ENOMEM, and the errors of reading the file.
 */
struct vectored_cost_model *vectored_cost_model_load(const char *path,
                                                     int target);

/**
 * Frees a model. NULL is allowed. errno is kept.
 */
void vectored_cost_model_free(struct vectored_cost_model *model);

/**
 * Returns the length of the longest segment, in bytes, that is copied in a list of `iovcnt` segments by this model. 0 means
 * that nothing is copied.
 *
 * Error (0 and errno): EFAULT if `model` is NULL, and no other.
 */
size_t vectored_cost_model_copy_below_bytes(const struct vectored_cost_model *model,
                                            size_t iovcnt);

/**
 * Returns a new, empty queue, or NULL with errno ENOMEM. It is full at 1 MiB.
 */
struct vectored_queue *vectored_queue_new(void);

/**
 * Returns a new, empty queue for a kind of descriptor, one of `enum vectored_target`. The most bytes of a call
 * depend on the kind. The queue is full when it holds `limit` bytes; 0 is the default, which is 2 MiB for files and
 * 1 MiB for others.
 *
 * Errors (NULL and errno): EINVAL if `target` is none of them, ENOMEM.
 */
struct vectored_queue *vectored_queue_for_target(int target,
                                                 size_t limit);

/**
 * Frees a queue, after it has released the segments that are left. Bytes that were not written are lost. NULL is allowed.
 * errno is kept.
 */
void vectored_queue_free(struct vectored_queue *queue);

/**
 * Appends a copy of `bytes` bytes at `data`, which must not be memory of the queue itself. Returns 0. A full queue takes them
 * too: ask `vectored_queue_is_full` before.
 *
 * Errors (-1 and errno): EFAULT if `queue` is NULL, or if `data` is NULL and `bytes` is not 0; EINVAL if `bytes` is more
 * than SSIZE_MAX; ENOMEM. The queue is as before then.
 */
int vectored_queue_put(struct vectored_queue *queue,
                       const void *data,
                       size_t bytes);

/**
 * Appends `bytes` bytes at `data` without copying them if they are many (more than 3 KiB), and a copy of them if
 * they are few. Returns 0.
 *
 * The memory is the queue's until it calls `release(context)`, once: when the bytes are written, or removed by
 * `vectored_queue_advance`, `vectored_queue_clear` or `vectored_queue_free`, or before this function returns if they were
 * copied. Until then, do not change or free it. `release` is called by the thread that called the queue's function. It
 * may be NULL, for memory that lives as long as the queue.
 *
 * Errors (-1 and errno): as `vectored_queue_put`. Nothing was appended and `release` is not called then.
 */
int vectored_queue_push(struct vectored_queue *queue,
                        const void *data,
                        size_t bytes,
                        vectored_release release,
                        void *context);

/**
 * Marks the end of a record, after its last byte was put or pushed. A system call takes as many whole records as it can, and
 * bytes behind the last mark with them: mark a record before you write. So a call ends within a record only if the kernel
 * ends it there, or if the record is too long for one call. For a log with several writers (O_APPEND).
 *
 * Returns 0, or -1 with errno EFAULT if `queue` is NULL.
 */
int vectored_queue_end_record(struct vectored_queue *queue);

/**
 * Writes what one system call takes, and returns its bytes; 0 means that the queue is empty. For an event loop: call it when
 * the descriptor is ready.
 *
 * Errors (-1 and errno; no byte was written): as `vectored_write_all`; EFAULT if `queue` is NULL.
 */
ssize_t vectored_queue_write_some(struct vectored_queue *queue,
                                  int fd);

/**
 * Writes all bytes, and returns their number. On success the queue is empty; after an error it holds what was not written.
 *
 * Errors (-1 and errno, with the bytes that this call wrote in `*done`): as `vectored_write_all`; EFAULT if `queue` is
 * NULL. EINVAL on a file with O_DIRECT.
 */
ssize_t vectored_queue_write_all(struct vectored_queue *queue,
                                 int fd,
                                 size_t *done);

/**
 * Returns the number of bytes to be written; 0 if `queue` is NULL.
 */
size_t vectored_queue_len(const struct vectored_queue *queue);

/**
 * Returns 1 if the queue holds as many bytes as its limit or more, and 0 if not, or if `queue` is NULL. Write a full
 * queue before you put more in.
 */
int vectored_queue_is_full(const struct vectored_queue *queue);

/**
 * Stores the next segments to be written in `iov`, up to `iovcnt` of them, and returns their number: for calls of your
 * own, such as SSL_write or sendmsg(2). Then remove what was written with `vectored_queue_advance`.
 *
 * The segments belong to the queue, and are valid until it is changed.
 *
 * Error (0 and errno): EFAULT if `queue` is NULL, or if `iov` is NULL and `iovcnt` is not 0, and no other. With valid pointers,
 * 0 says that the queue is empty or `iovcnt` is 0.
 */
size_t vectored_queue_segments(const struct vectored_queue *queue,
                               struct iovec *iov,
                               size_t iovcnt);

/**
 * Removes the first `bytes` bytes, which were written by other means, and releases their segments. Returns 0.
 *
 * Errors (-1 and errno): EFAULT if `queue` is NULL; EINVAL if the queue holds fewer bytes, and nothing is removed.
 */
int vectored_queue_advance(struct vectored_queue *queue,
                           size_t bytes);

/**
 * Removes all bytes, and releases their segments. If a message was written in part, its rest is lost. NULL is allowed.
 */
void vectored_queue_clear(struct vectored_queue *queue);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VECTORED_H */
