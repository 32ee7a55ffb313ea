/*
 * vectored.h: write and read lists of segments (struct iovec) completely.
 *
 * writev(2) and readv(2) may stop in the middle of a segment, refuse more than IOV_MAX segments, move at most about
 * 2 GiB, and are interrupted by signals. The functions here move the whole list, or say how many
 * bytes of it they moved.
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
 * Functions with a gather or scatter handle copy short segments together. That is faster if segments have up to a few
 * hundred bytes. The other functions copy nothing.
 *
 * Compile with `cc program.c $(pkg-config --cflags --libs vectored)`. If the library is installed in a folder
 * PREFIX of your own, set PKG_CONFIG_PATH to PREFIX/lib/pkgconfig before, and LD_LIBRARY_PATH to PREFIX/lib when the program
 * runs. To link statically: `cc -static program.c $(pkg-config --static --cflags --libs vectored)`. The header is C99 and C++11.
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
 * Lists. A list is `iovcnt` segments at `iov`. It may have more than IOV_MAX segments. `iov` is never changed. Empty
 * segments are allowed everywhere, also with a NULL `iov_base`, and never reach the kernel. `iov` may be NULL if `iovcnt`
 * is 0. EINVAL: a segment has more than SSIZE_MAX bytes, or `iovcnt` is a number that no array has, such as (size_t)-1. If
 * the list is empty or the cursor is at the end of the list, a function returns 0 without a system call. Then a negative
 * descriptor is an error, but a descriptor that is closed, or open for something else, is not noticed.
 * Until the function returns, no other thread may change `iov` or free a segment. If another thread changes the bytes of a
 * segment that is being written, it is unspecified whether the old or the new bytes are written. Segments to read into must
 * not overlap.
 *
 * Result. Functions that move bytes return the number of bytes. On an error they return -1 and set errno; errno is
 * unspecified after a success. `*done` is set to 0 first. On return, with or without an error, `*done` is the number of
 * bytes that this call moved: the first bytes of the list, or the first bytes after the cursor. `done` may be NULL.
 *
 * EINTR never occurs: an interrupted system call is made again, so a signal handler cannot end a call that waits. To end a
 * transfer at a signal or after a time, use a descriptor with O_NONBLOCK, and wait by poll(2). A signal or a time limit
 * ends poll(2). Sockets also have SO_SNDTIMEO and SO_RCVTIMEO. EAGAIN (EWOULDBLOCK) occurs on descriptors with O_NONBLOCK
 * and on sockets with a timeout. EFAULT: a pointer that must not be NULL is NULL. EBADF: the descriptor is negative.
 * ENOTRECOVERABLE: the library has a defect, and has printed a message on standard error; `*done` is 0 then, and it is
 * unknown which bytes were moved.
 *
 * SIGPIPE. If the reader of a pipe or socket is gone, writing raises SIGPIPE, as write(2) does. The signal ends the process
 * unless it is ignored: signal(SIGPIPE, SIG_IGN). Then the error is EPIPE. In the same way, a file that would grow beyond
 * RLIMIT_FSIZE raises SIGXFSZ. If SIGXFSZ is ignored, the error is EFBIG.
 *
 * Threads. Functions without a handle may be called by any threads. A gather, scatter or queue handle may be used by one
 * thread at a time, and by different threads one after another. Several threads may use a cost model at the same time. A
 * signal handler must neither call a function nor leave one by longjmp. A thread must not be cancelled while it is in a
 * function: if your program cancels threads, disable this by pthread_setcancelstate(3). After fork(2) the child may use its
 * copies of all handles.
 *
 * A list that takes several system calls is not atomic: other writers to the same descriptor may write between them.
 *
 * Memory. A function that needs memory for a handle or for the bytes of a queue fails with errno ENOMEM if there is none. A
 * gather handle without memory for its buffer copies nothing. The process is aborted if there is no memory for the
 * bookkeeping of a call, up to 16 KiB, or for the records of a queue.
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
 * Writes lists with short segments faster than writev(2): the handle copies runs of short segments into its buffer, and
 * references long segments, in the same system call.
 *
 * Make a handle with `vectored_gather_new` or `vectored_gather_with_model`, and use it for all lists of a thread, to any
 * descriptors. Free it with `vectored_gather_free`. The first list that is copied allocates the buffer of 256 KiB, and
 * further lists allocate nothing. When a function returns, no byte of the list waits in the buffer.
 *
 * Copied bytes are not wiped from the buffer, neither after a call nor when the buffer is freed.
 */
typedef struct vectored_gather vectored_gather;

/**
 * A queue of bytes that a connection or a log owns. A program puts messages in, and one system call then writes many.
 *
 * The queue owns its bytes and its position. Whether a call succeeds or fails, exactly the bytes that were written are
 * removed from the queue. After EAGAIN, wait until the descriptor is ready, and write again.
 *
 * Make a queue with `vectored_queue_new` or `vectored_queue_for_target`, and free it with `vectored_queue_free`.
 */
typedef struct vectored_queue vectored_queue;

/**
 * Reads lists with short segments faster than readv(2): the handle reads runs of short segments into its buffer, and
 * copies the bytes to the segments.
 *
 * Keep the handle for all lists of a thread, and free it with `vectored_scatter_free`. When a function returns, all
 * bytes that were read are in your segments.
 */
typedef struct vectored_scatter vectored_scatter;

/**
 * A position in a list of segments. `{0, 0}` is the start of a list.
 *
 * To continue a transfer that stopped, for example because a non-blocking descriptor is full, pass the same cursor and
 * list again. At the end of a list, `segment` is the number of segments.
 *
 * A cursor holds no pointer: you may copy it and set its members. Segments may be added at the end of the list. If the
 * first `k` segments, all of them moved, are removed from the list, subtract `k` from `segment`.
 */
typedef struct vectored_cursor {
  /**
   * The index of the segment with the next byte.
   */
  size_t segment;
  /**
   * The number of bytes of segment `segment` that were moved.
   */
  size_t offset;
} vectored_cursor;

/**
 * A function that a queue calls once for each segment of `vectored_queue_push`, with the `context` that was passed with
 * the segment.
 *
 * The function must not call a function of the same queue, and must not leave by longjmp, pthread_exit or a C++ exception.
 */
typedef void (*vectored_release)(void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library that the program runs with: `MAJOR * 1000000 + MINOR * 1000 + PATCH`. A shared
 * library may be newer than the header.
 */
int vectored_version(void);

/**
 * Returns the version as text, such as "0.1.0". The text is static: do not free it.
 */
const char *vectored_version_string(void);

/**
 * Writes all segments in order, and returns the number of their bytes. Nothing is copied.
 *
 * Errors (-1 and errno, with the bytes written before in `*done`):
 *
 * EAGAIN: a non-blocking descriptor is full, or the SO_SNDTIMEO of a socket has passed. If you expect EAGAIN, use
 * `vectored_resume_write`. The same call would write the first `*done` bytes again: advance a cursor by `*done`, and
 * continue with `vectored_resume_write`.
 *
 * EBADF: `fd` is negative, or not open for writing.
 *
 * EFAULT: `iov` is NULL and `iovcnt` is not 0; no byte is written. Or the kernel cannot read the memory of a segment of
 * 1 byte or more, for example because its `iov_base` is NULL; some bytes may be written then.
 *
 * EINVAL: a segment has more than SSIZE_MAX bytes, or the descriptor is a socket that keeps messages apart (SOCK_DGRAM,
 * SOCK_SEQPACKET) and the list is not exactly one message: use `vectored_write_once`. No byte is written.
 *
 * EIO: a call wrote no byte and returned no error.
 *
 * EPIPE (if SIGPIPE is ignored), ENOSPC, and all other errors of write(2), but never EINTR.
 */
ssize_t vectored_write_all(int fd,
                           const struct iovec *iov,
                           size_t iovcnt,
                           size_t *done);

/**
 * Writes from `cursor` to the end of the list, and returns the number of bytes of this call.
 *
 * Writes like `vectored_write_all`, but can be resumed: on success and on error, `cursor` has moved by exactly the bytes
 * that were written. After EAGAIN, wait with poll(2) until the descriptor is ready, and call the function again with the
 * same list and cursor. If the cursor is at the end of the list, the function returns 0 without a system call.
 *
 * Errors: as `vectored_write_all`; EFAULT if `cursor` is NULL; EINVAL if the cursor is outside of the list.
 */
ssize_t vectored_resume_write(int fd,
                              const struct iovec *iov,
                              size_t iovcnt,
                              struct vectored_cursor *cursor,
                              size_t *done);

/**
 * Writes all segments in order into a file at `offset`, and returns the number of their bytes. The file's own position is neither used
 * nor moved.
 *
 * To resume after an error, write the rest of the list at `offset` + `*done`. `vectored_cursor_advance` finds the
 * segment and the byte at which the rest begins. Pass a copy of the array from that byte on, since no function takes
 * both a cursor and an offset. Or move the file's position by lseek(2), and call `vectored_resume_write`. Through a
 * descriptor with O_APPEND, Linux appends whatever the offset is ("BUGS" of pwrite(2)).
 *
 * Errors: as `vectored_write_all`; EINVAL if `offset` is negative, or if the last byte would lie at or past the largest
 * offset; ESPIPE on a pipe or socket.
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
 * Empty segments do not count. If all segments are empty, the function returns 0 without a system call: send an empty
 * message with send(2).
 *
 * Errors: as `vectored_write_all`, and
 *
 * EINVAL: the list has more than IOV_MAX segments, more than 0x7ffff000 bytes, or on a pipe more than PIPE_BUF bytes. No
 * byte is written.
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
 * Reads into all segments in order until they are full, and returns the number of their bytes. Bytes after the list stay in the stream.
 *
 * Errors (-1 and errno). The first `*done` bytes of the list are read then, and the content of the rest is unspecified:
 *
 * ENODATA: the file or stream ended before the list was full. If `*done` is 0, no byte of the list was there, as after
 * the last record of a stream. If an early end is no error, use `vectored_read_up_to_eof`.
 *
 * EAGAIN: a non-blocking descriptor is empty, or the SO_RCVTIMEO of a socket has passed. To continue, advance a cursor
 * by `*done`, and call `vectored_resume_read`.
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
 * All other errors of read(2), but never EINTR.
 */
ssize_t vectored_read_exact(int fd,
                            const struct iovec *iov,
                            size_t iovcnt,
                            size_t *done);

/**
 * Reads from `cursor` on until the segments are full, and returns the number of bytes of this call.
 *
 * Reads like `vectored_read_exact`, but can be resumed: on success and on error, `cursor` has moved by exactly the bytes
 * that were read.
 *
 * Errors: as `vectored_read_exact`; EFAULT if `cursor` is NULL; EINVAL if the cursor is outside of the list.
 */
ssize_t vectored_resume_read(int fd,
                             const struct iovec *iov,
                             size_t iovcnt,
                             struct vectored_cursor *cursor,
                             size_t *done);

/**
 * Reads into the segments in order until they are full or the file ends, and returns the number of bytes read. If that
 * is less than the length of the list, the file or stream has ended.
 *
 * Errors: as `vectored_read_exact`, without ENODATA.
 */
ssize_t vectored_read_up_to_eof(int fd,
                                const struct iovec *iov,
                                size_t iovcnt,
                                size_t *done);

/**
 * Reads into all segments in order from `offset` of a file on, and returns the number of their bytes. The file's own position is neither
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
 * Reads like `vectored_pread_exact` until the segments are full or the file ends. Returns the number of bytes read: 0 if
 * the file ends at or before `offset`.
 *
 * Errors: as `vectored_pread_exact`, without ENODATA.
 */
ssize_t vectored_pread_up_to_eof(int fd,
                                 const struct iovec *iov,
                                 size_t iovcnt,
                                 int64_t offset,
                                 size_t *done);

/**
 * Returns the number of bytes from `cursor` to the end of the list, or SSIZE_MAX if there are more bytes. (Only a list
 * that names the same memory several times can have more.)
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
 * Returns a new gather handle with a cost model that decides which segments are copied. Pass the model for the kind of
 * descriptor that is written to. The function copies the model, so you may free the model.
 *
 * Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
 */
struct vectored_gather *vectored_gather_with_model(const struct vectored_cost_model *model);

/**
 * Frees a gather handle. NULL is allowed. errno is kept.
 */
void vectored_gather_free(struct vectored_gather *gather);

/**
 * Writes all segments in order, and returns the number of their bytes.
 *
 * Writes like `vectored_write_all`, but copies short segments, as by memcpy(3). If this process cannot read the memory
 * of a short segment, for example because its `iov_base` is NULL, the process gets the signal SIGSEGV instead of the
 * error EFAULT.
 *
 * Errors: as `vectored_write_all`; EFAULT if `gather` is NULL. After an error the handle can be used again.
 */
ssize_t vectored_gather_write_all(struct vectored_gather *gather,
                                  int fd,
                                  const struct iovec *iov,
                                  size_t iovcnt,
                                  size_t *done);

/**
 * Writes from `cursor` to the end of the list, and returns the number of bytes of this call.
 *
 * Writes like `vectored_resume_write`, but copies short segments. Copied bytes are not kept. If the transfer stops,
 * `cursor` is at the rest of your list. Any gather handle, or `vectored_resume_write`, may continue from there.
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
 * Writes all segments in order into a file at `offset`, and returns the number of their bytes.
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
 * Returns a new scatter handle with a copy of a cost model.
 *
 * Errors (NULL and errno): EFAULT if `model` is NULL, ENOMEM.
 */
struct vectored_scatter *vectored_scatter_with_model(const struct vectored_cost_model *model);

/**
 * Frees a scatter handle. NULL is allowed. errno is kept.
 */
void vectored_scatter_free(struct vectored_scatter *scatter);

/**
 * Reads into all segments in order until they are full, and returns the number of their bytes.
 *
 * Errors: as `vectored_read_exact`; EFAULT if `scatter` is NULL.
 */
ssize_t vectored_scatter_read_exact(struct vectored_scatter *scatter,
                                    int fd,
                                    const struct iovec *iov,
                                    size_t iovcnt,
                                    size_t *done);

/**
 * Reads from `cursor` on until the segments are full, and returns the number of bytes of this call. `cursor` moves as with
 * `vectored_resume_read`.
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
 * Reads into the segments in order until they are full or the file ends, and returns the number of bytes read, like
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
 * Reads into all segments in order from `offset` of a file on, and returns the number of their bytes, like `vectored_pread_exact`.
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
 * Reads like `vectored_scatter_pread_exact` until the segments are full or the file ends. Returns the number of bytes
 * read, like `vectored_pread_up_to_eof`.
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
 * Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, ENOMEM.
 */
struct vectored_cost_model *vectored_cost_model_for_target(int target);

/**
 * Measures a model on this machine for about `budget_ms` milliseconds: 50 are enough on an idle machine. The function
 * makes and closes the descriptors that it measures. Free the model with `vectored_cost_model_free`.
 *
 * `target` is one of `enum vectored_target`. If `target` is a file, an unnamed file of up to 16 MiB is made in
 * `directory`. Otherwise `directory` is not used and may be NULL.
 *
 * Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, EFAULT if `directory` is NULL and
 * `target` is a file, ENOMEM, and the errors of the system calls that make and write the descriptors.
 */
struct vectored_cost_model *vectored_cost_model_calibrate(int target,
                                                          const char *directory,
                                                          unsigned int budget_ms);

/**
 * Reads the model of a target from the file `path`: a result that `vectored measure --format json` printed on this type
 * of machine. The command calibrated the model before its run. Free the model with `vectored_cost_model_free`.
 *
 * `target` is one of `enum vectored_target`; VECTORED_OTHER has the model of `--target null`.
 *
 * Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, EFAULT if `path` is NULL, EBADMSG if the
 * file is no result of `vectored measure` or has no calibrated model of the target, ENOMEM, and the errors of reading
 * the file.
 */
struct vectored_cost_model *vectored_cost_model_load(const char *path,
                                                     int target);

/**
 * Frees a model. NULL is allowed. errno is kept.
 */
void vectored_cost_model_free(struct vectored_cost_model *model);

/**
 * Returns the length in bytes of the longest segment that this model copies in a list of `iovcnt` segments. 0 means that
 * nothing is copied.
 *
 * Error (0 and errno): EFAULT if `model` is NULL, and no other.
 */
size_t vectored_cost_model_copy_below_bytes(const struct vectored_cost_model *model,
                                            size_t iovcnt);

/**
 * Returns a new, empty queue, or NULL with errno ENOMEM. The queue is full at 1 MiB.
 */
struct vectored_queue *vectored_queue_new(void);

/**
 * Returns a new, empty queue for a kind of descriptor, one of `enum vectored_target`. The most bytes of a call depend on
 * the kind. The queue is full when it holds `limit` bytes. A `limit` of 0 means 2 MiB for files and 1 MiB for other kinds.
 *
 * Errors (NULL and errno): EINVAL if `target` is not in `enum vectored_target`, ENOMEM.
 */
struct vectored_queue *vectored_queue_for_target(int target,
                                                 size_t limit);

/**
 * Releases the segments that are left, and frees the queue. Bytes that were not written are lost. NULL is allowed. errno
 * is kept.
 */
void vectored_queue_free(struct vectored_queue *queue);

/**
 * Appends a copy of `bytes` bytes at `data`. The bytes must not be memory of the queue. Returns 0. A full queue also
 * takes the bytes: ask `vectored_queue_is_full` first.
 *
 * Errors (-1 and errno): EFAULT if `queue` is NULL, or if `data` is NULL and `bytes` is not 0; EINVAL if `bytes` is more
 * than SSIZE_MAX; ENOMEM. The queue is unchanged then.
 */
int vectored_queue_put(struct vectored_queue *queue,
                       const void *data,
                       size_t bytes);

/**
 * Appends `bytes` bytes at `data`. Up to 3 KiB are copied; more bytes are not copied. Returns 0.
 *
 * Do not change or free the memory at `data` before the queue calls `release(context)`. The queue calls `release` once:
 * when the bytes are written, when they are removed by `vectored_queue_advance`, `vectored_queue_clear` or
 * `vectored_queue_free`, or, if they were copied, before this function returns. `release` runs in the thread that called
 * the queue's function. `release` may be NULL for memory that lives as long as the queue.
 *
 * Errors (-1 and errno): as `vectored_queue_put`. Nothing was appended and `release` is not called then.
 */
int vectored_queue_push(struct vectored_queue *queue,
                        const void *data,
                        size_t bytes,
                        vectored_release release,
                        void *context);

/**
 * Marks the end of a record, after its last byte was put or pushed: for a log with several writers (O_APPEND). A system
 * call takes as many whole records as it can, and also the bytes after the last mark: mark a record before you write the
 * queue. So a call ends within a record only if the kernel ends the call there, or if the record is too long for one call.
 *
 * Returns 0, or -1 with errno EFAULT if `queue` is NULL.
 */
int vectored_queue_end_record(struct vectored_queue *queue);

/**
 * Writes what one system call takes, and returns the number of bytes. 0 means that the queue is empty. For an event
 * loop: call the function when the descriptor is ready.
 *
 * Errors (-1 and errno; no byte was written): as `vectored_write_all`; EFAULT if `queue` is NULL.
 */
ssize_t vectored_queue_write_some(struct vectored_queue *queue,
                                  int fd);

/**
 * Writes all bytes, and returns their number. On success the queue is empty. After an error the queue holds the bytes
 * that were not written.
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
 * Returns 1 if the queue holds at least as many bytes as its limit. Otherwise, and if `queue` is NULL, returns 0. Write
 * a full queue before you put more in.
 */
int vectored_queue_is_full(const struct vectored_queue *queue);

/**
 * Stores the next segments to be written in `iov`, at most `iovcnt`, and returns their number: for calls of your own,
 * such as SSL_write or sendmsg(2). After such a call, remove the written bytes with `vectored_queue_advance`.
 *
 * The segments belong to the queue, and are valid until the queue is changed.
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
 * Errors (-1 and errno): EFAULT if `queue` is NULL; EINVAL if the queue holds fewer bytes. Nothing is removed then.
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
