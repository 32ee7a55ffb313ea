// Appends records to a log, each by one system call, from C++ with an owner for the handle.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <vectored.h>

namespace {

struct FreeGather {
    void operator()(vectored_gather *gather) const { vectored_gather_free(gather); }
};

using Gather = std::unique_ptr<vectored_gather, FreeGather>;

iovec piece(const std::string &text)
{
    return {const_cast<char *>(text.data()), text.size()};
}

} // namespace

int main()
{
    std::FILE *file = std::tmpfile();
    if (file == nullptr)
        return 1;
    const int log = fileno(file);
    const std::string level = "info: ", text = "started", end = "\n";
    const std::vector<iovec> record = {piece(level), piece(text), piece(end)};
    size_t done = 0;
    if (vectored_write_once(log, record.data(), record.size(), &done) < 0) {
        std::fprintf(stderr, "%zu bytes of the record, then: %s\n", done, std::strerror(errno));
        return 1;
    }

    // Many records of a batch go by few calls with a gather handle.
    std::vector<iovec> batch;
    for (int i = 0; i < 2000; i++)
        batch.insert(batch.end(), record.begin(), record.end());
    Gather gather(vectored_gather_new());
    if (!gather || vectored_gather_write_all(gather.get(), log, batch.data(), batch.size(), &done) < 0)
        return 1;
    std::printf("%zu bytes\n", done);
    const off_t expected = 2001 * static_cast<off_t>(level.size() + text.size() + end.size());
    return lseek(log, 0, SEEK_END) == expected ? 0 : 1;
}
