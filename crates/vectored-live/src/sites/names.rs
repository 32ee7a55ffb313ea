//! Names of functions, as a person writes them, and the libraries that they belong to.

/// Longer names are not taken apart.
const LENGTH_MAX: usize = 2048;

/// What the compiler adds to the name of a part of a function.
const PARTS: &str = ".part. .constprop. .isra. .cold .llvm. .lto_priv.";

/// The name of a symbol, without the types that it takes and returns.
pub(crate) fn readable(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let symbol = PARTS
        .split(' ')
        .fold(symbol, |name, part| name.split(part).next().unwrap_or(name));
    let of_cpp = symbol
        .strip_prefix("_Z")
        .filter(|rest| rest.len() < LENGTH_MAX)
        .and_then(|rest| Mangled(rest).name());
    of_cpp.unwrap_or_else(|| symbol.to_owned())
}

/// The rest of a name that a compiler of C++ made (Itanium C++ ABI, "External Names").
struct Mangled<'n>(&'n str);

/// Names of the standard library of C++, by their codes.
const OF_STD: &str = "St std Sa std::allocator Sb std::basic_string Ss std::string Si std::istream So std::ostream Sd std::iostream";

/// Operators, by their codes.
const OPERATORS: &str = "nw new na new[] dl delete da delete[] co ~ pl + mi - ml * dv / rm % an & or | eo ^ aS = pL += mI -= ls << rs >> lS <<= rS >>= \
    eq == ne != lt < gt > le <= ge >= ss <=> nt ! aa && oo || pp ++ mm -- cm , pm ->* pt -> cl () ix []";

impl<'n> Mangled<'n> {
    fn takes(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// A name with the functions and namespaces around it.
    fn name(&mut self) -> Option<String> {
        if self.takes("Z") {
            let outer = self.name()?;
            // The types of the outer function.
            while !self.takes("E") {
                self.skip()?;
            }
            return Some(if self.takes("s") {
                outer
            } else {
                format!("{outer}::{}", self.name()?)
            });
        }
        let is_nested = self.takes("N");
        if is_nested {
            self.0 = self.0.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
        }
        let mut parts: Vec<String> = Vec::new();
        while !(is_nested && self.takes("E")) {
            if self.takes("I") {
                while !self.takes("E") {
                    self.skip()?;
                }
            } else if self.takes("B") {
                self.source_name()?;
            } else {
                let is_std = self.0.starts_with("St");
                let part = self.part(parts.last())?;
                parts.push(part);
                if !is_nested && !is_std {
                    break;
                }
            }
        }
        (!parts.is_empty()).then(|| parts.join("::"))
    }

    fn source_name(&mut self) -> Option<&'n str> {
        let digits = self.0.find(|letter: char| !letter.is_ascii_digit())?;
        let (length, rest) = self.0.split_at(digits);
        let (name, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.0 = rest;
        Some(name)
    }

    fn part(&mut self, last: Option<&String>) -> Option<String> {
        self.takes("L");
        let mut words = OF_STD.split(' ');
        if words.any(|word| word.len() == 2 && self.takes(word)) {
            return words.next().map(str::to_owned);
        }
        if self.0.starts_with(|letter: char| letter.is_ascii_digit()) {
            let name = self.source_name()?;
            return Some(
                if name.starts_with("_GLOBAL__N") { "(anonymous namespace)" } else { name }
                    .to_owned(),
            );
        }
        if self.takes("Ul") || self.takes("Ut") {
            while !self.0.starts_with(['E', '_']) {
                self.skip()?;
            }
            self.0 = &self.0[self.0.find('_')? + 1..];
            return Some("{lambda}".to_owned());
        }
        let (code, rest) = self.0.split_at_checked(2)?;
        let name = match code {
            "C1" | "C2" | "C3" => last?.clone(),
            "D0" | "D1" | "D2" => format!("~{}", last?),
            _ => {
                let mut words = OPERATORS.split_whitespace();
                words.find(|word| *word == code)?;
                let operator = words.next()?;
                let gap = if operator.starts_with(|letter: char| letter.is_ascii_lowercase()) {
                    " "
                } else {
                    ""
                };
                format!("operator{gap}{operator}")
            }
        };
        self.0 = rest;
        Some(name)
    }

    /// Skips a piece of a type or of an argument of a template.
    fn skip(&mut self) -> Option<()> {
        let first = self.0.chars().next()?;
        match first {
            '0'..='9' => return self.source_name().map(|_| ()),
            'S' | 'T' if !self.0.as_bytes().get(1)?.is_ascii_lowercase() => {
                self.0 = &self.0[self.0.find('_')? + 1..];
            }
            'S' => self.0 = self.0.get(2..)?,
            'A' => self.0 = &self.0[self.0.find('_')? + 1..],
            'L' if !self.0.starts_with("L_Z") => {
                self.0 = &self.0[1..];
                self.skip()?;
                self.0 = &self.0[self.0.find('E')? + 1..];
            }
            'I' | 'N' | 'X' | 'J' | 'F' | 'Z' | 'L' => {
                self.0 = &self.0[if first == 'L' { "L_Z".len() } else { 1 }..];
                while !self.takes("E") {
                    self.skip()?;
                }
            }
            'U' if self.0.starts_with("Ul") => {
                self.part(None)?;
            }
            'D' => {
                let opens = matches!(self.0.as_bytes().get(1)?, b't' | b'T');
                self.0 = self.0.get(2..)?;
                while opens && !self.takes("E") {
                    self.skip()?;
                }
            }
            _ => self.0 = self.0.get(first.len_utf8()..)?,
        }
        Some(())
    }
}

/// Whether a function belongs to the library of a language, by its readable name and the path of its source.
pub(crate) fn is_of_language(name: &str, path: &str) -> bool {
    const PATHS: &str = "/rustlib/src/ /include/c++/ /src_musl/ /musl- /glibc-";
    const NAMES: &str = "std::,core::,alloc::,<std::,<core::,<alloc::,<&,<[,<(,<dyn ,<*,<T as ,__rust,__gnu_cxx::,__cxxabiv1::,_ZNS,_ZNKS,_ZS";
    name == "_start"
        || path.starts_with("/rustc/")
        || PATHS.split(' ').any(|part| path.contains(part))
        || NAMES.split(',').any(|with| name.starts_with(with))
}

/// Whether a function of a static program, without line numbers, may be of the C library.
pub(crate) fn is_of_c(name: &str) -> bool {
    const KNOWN: &str = "new_do_write write writev pwrite pwrite64 pwritev pwritev64 read readv pread pread64 send sendto sendmsg recv recvfrom recvmsg fwrite \
        fwrite_unlocked fread fread_unlocked fputs fputs_unlocked puts fputc putc putchar putw fflush fflush_unlocked fclose fgets getline getdelim fgetc getc \
        getchar fseek fseeko ftell rewind setvbuf open openat open64 fopen fopen64 close lseek lseek64 syscall perror exit sendfile sendfile64 splice \
        copy_file_range fsync fdatasync poll select connect accept abort system flockfile psignal";
    let is_known = KNOWN.split_whitespace().any(|known| known == name);
    name.starts_with('_')
        || name.starts_with("str")
        || name.starts_with("mem")
        || name.contains("printf")
        || is_known
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "\
main main
site.constprop.0.isra.0 site
_ZN5inner6site_0EiRSt14basic_ofstreamIcSt11char_traitsIcEE inner::site_0
_Z9generic_2IlET_i generic_2
_ZL7site_18iRSt14basic_ofstreamIcSt11char_traitsIcEE site_18
_ZN12_GLOBAL__N_13putEi (anonymous namespace)::put
_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc std::operator<<
_ZNSo5writeEPKcl std::ostream::write
_ZNSt13basic_filebufIcSt11char_traitsIcEE8overflowEi std::basic_filebuf::overflow
_ZNK4EachclEi Each::operator()
_ZN4EachC2ENS_5OuterIiLi5ELb1EEE Each::Each
_ZZN4Each3runEvENKUlvE_clEv Each::run::{lambda}::operator()
_ZN1AIXadL_ZN1B1fEvEEE3putEA10_c A::put
_Znwm operator new
_ZN1AB5cxx11C1Ev A::A
_ZN7program4main17h0123456789abcdefE program::main
_RNvCs15kBYyAo9fc_7program4main program::main
_ZNS_ _ZNS_";

    #[test]
    fn names_are_without_types() {
        for row in NAMES.lines() {
            let (symbol, name) = row.split_once(' ').unwrap();
            assert_eq!(readable(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn functions_of_libraries_are_known() {
        for (name, path, expected) in [
            ("<alloc::vec::Vec<u8> as std::io::Write>::write", "", true),
            ("write_all<program::Out>", "/rustc/0123/io/mod.rs", true),
            ("<program::Out as std::io::Write>::write", "/own.rs", false),
        ] {
            assert_eq!(is_of_language(name, path), expected, "{name}");
        }
        assert!(is_of_c("_IO_new_file_write") && is_of_c("fwrite") && !is_of_c("site"));
    }
}
