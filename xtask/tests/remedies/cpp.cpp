#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>

static const char *path;
static int records;

static std::string record(int number) { return "record " + std::string(26, '0') + std::to_string(100000 + number).substr(1); }

static void write_to(std::ostream &file) {
    for (int i = 0; i < records; i++)
        file << record(i) << '\n';
}

static int show(std::istream &file) {
    std::string line, all;
    while (std::getline(file, line))
        all += line + '\n';
    return write(1, all.data(), all.size()) < 0;
}

int main(int, char **word) {
    std::string name = word[1];
    path = word[2];
    records = atoi(word[4]);
    static char buffer[65536];
    std::ofstream out;
    std::ifstream in;
    if (name == "adjacent-writes/file 0") {
        out.open(path);
        for (int i = 0; i < records; i++)
            out << record(i) << std::endl;
    } else if (name == "adjacent-writes/file 1") {
        out.open(path);
        std::ostream &file = out;
        for (int i = 0; i < records; i++)
            file << record(i) << '\n';
        file.flush();
        _exit(0);
    } else if (name == "adjacent-writes/file#unitbuf 0") {
        out.open(path);
        out << std::unitbuf;
        write_to(out);
    } else if (name == "adjacent-writes/file#unitbuf 1") {
        out.open(path);
        write_to(out);
    } else if (name == "adjacent-writes/file#cout 0") {
        setvbuf(stdout, NULL, _IONBF, 0);
        write_to(std::cout);
    } else if (name == "adjacent-writes/file#cout 1") {
        setvbuf(stdout, NULL, _IONBF, 0);
        std::ios::sync_with_stdio(false);
        write_to(std::cout);
        std::cout.flush();
        _exit(0);
    } else if (name == "adjacent-writes/file#buffer 0") {
        out.open(path);
        write_to(out);
    } else if (name == "adjacent-writes/file#buffer 1") {
        std::ofstream file;
        file.rdbuf()->pubsetbuf(buffer, 65536);
        file.open(path);
        write_to(file);
        file.flush();
        _exit(0);
    } else if (name == "small-reads/file 0") {
        in.open(path);
        return show(in);
    } else if (name == "small-reads/file 1") {
        std::ifstream file;
        file.rdbuf()->pubsetbuf(buffer, 65536);
        file.open(path);
        return show(file);
    } else if (name == "small-reads/file#cin 0") {
        dup2(open(path, O_RDONLY), 0);
        setvbuf(stdin, NULL, _IONBF, 0);
        return show(std::cin);
    } else if (name == "small-reads/file#cin 1") {
        dup2(open(path, O_RDONLY), 0);
        setvbuf(stdin, NULL, _IONBF, 0);
        std::ios::sync_with_stdio(false);
        return show(std::cin);
    } else {
        return 2;
    }
}
