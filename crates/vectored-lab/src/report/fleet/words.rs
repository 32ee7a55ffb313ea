//! The words of external texts that an extract may contain. Any other word is left out: a hypervisor may give its
//! processor any name, and a kernel may be named after its builder.

/// Words of processor names, as `/proc/cpuinfo` has them, in lower case.
const PROCESSOR_WORDS: [&str; 72] = [
    "altra",
    "altramax",
    "broadwell",
    "bronze",
    "cascadelake",
    "common",
    "cooperlake",
    "core",
    "cores",
    "cpu",
    "denverton",
    "dual",
    "duo",
    "e",
    "edition",
    "eight",
    "embedded",
    "emerald",
    "emeraldrapids",
    "extreme",
    "fx",
    "gen",
    "genoa",
    "genuine",
    "gold",
    "granite",
    "graniterapids",
    "graphics",
    "haswell",
    "i3",
    "ibpb",
    "ibrs",
    "icelake",
    "ivybridge",
    "m",
    "max",
    "milan",
    "mobile",
    "n",
    "naples",
    "nehalem",
    "no",
    "penryn",
    "phenom",
    "phi",
    "platinum",
    "premium",
    "pro",
    "processor",
    "quad",
    "radeon",
    "rapids",
    "rome",
    "sandybridge",
    "sapphire",
    "sapphirerapids",
    "sempron",
    "server",
    "sierraforest",
    "silver",
    "six",
    "skylake",
    "threadripper",
    "triple",
    "tsx",
    "turin",
    "turion",
    "ultra",
    "version",
    "virtual",
    "westmere",
    "with",
];

/// Words that name a type of processor, or its maker.
const MAKERS: [&str; 40] = [
    "amazon",
    "amd",
    "ampere",
    "apple",
    "arm",
    "athlon",
    "atom",
    "authenticamd",
    "celeron",
    "centaur",
    "cortex",
    "epyc",
    "genuineintel",
    "graviton",
    "graviton2",
    "graviton3",
    "graviton4",
    "hygon",
    "ibm",
    "intel",
    "kunpeng",
    "kvm",
    "loongson",
    "neoverse",
    "opteron",
    "pentium",
    "phytium",
    "power10",
    "power8",
    "power9",
    "qemu",
    "qualcomm",
    "ryzen",
    "snapdragon",
    "thunderx",
    "thunderx2",
    "via",
    "xeon",
    "xgene",
    "zhaoxin",
];

/// Types of file systems.
const FILE_SYSTEMS: [&str; 33] = [
    "9p", "apfs", "bcachefs", "beegfs", "btrfs", "ceph", "cifs", "erofs", "exfat", "ext2", "ext3",
    "ext4", "f2fs", "fuse", "fuseblk", "gpfs", "hfs", "jfs", "lustre", "nfs", "nfs4", "ntfs",
    "ntfs3", "overlay", "ramfs", "reiserfs", "smb3", "tmpfs", "ufs", "vfat", "virtiofs", "xfs",
    "zfs",
];

/// In place of the system that it imitates: its times are those of an emulation.
const WINE: &str = "Wine";

const SYSTEMS: [&str; 8] = [
    WINE, "Linux", "Darwin", "FreeBSD", "NetBSD", "OpenBSD", "Windows", "SunOS",
];

const ARCHITECTURES: [&str; 20] = [
    "x86_64",
    "amd64",
    "i386",
    "i486",
    "i586",
    "i686",
    "aarch64",
    "arm64",
    "armv6l",
    "armv7l",
    "armv8l",
    "riscv64",
    "ppc64",
    "ppc64le",
    "s390x",
    "loongarch64",
    "mips",
    "mips64",
    "sparc64",
    "riscv32",
];

/// The text in place of one without a known word.
pub const UNKNOWN: &str = "unknown";

/// Parts of a word between hyphens: `64-Core`, `E5-2690`. An address with hyphens has more.
const MAX_PARTS: usize = 2;

/// Digits in a row. Numbers of models have up to five, serial numbers more.
const MAX_DIGITS: usize = 5;

/// The known words of a processor's name, and what looks like a number of a model in it: `AMD EPYC 7763 64-Core Processor`.
/// Marks such as `(R)` are left out.
pub fn processor(model: &str) -> String {
    let model = model
        .replace("(R)", "")
        .replace("(TM)", "")
        .replace("(tm)", "");
    let words: Vec<&str> = model
        .split([' ', '\t', '(', ')', ',', '@'])
        .filter(|word| !word.is_empty() && word.matches('-').count() < MAX_PARTS)
        .filter(|word| word.split('-').all(is_processor_word))
        .collect();
    // `Processor 7` is no type.
    let is_named = |word: &&str| word.split('-').any(|part| is_one_of(&MAKERS, part));
    match words.iter().any(is_named) {
        true => words.join(" "),
        false => UNKNOWN.to_owned(),
    }
}

fn is_processor_word(word: &str) -> bool {
    is_one_of(&MAKERS, word) || is_one_of(&PROCESSOR_WORDS, word) || is_model_number(word)
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.contains(&word.to_ascii_lowercase().as_str())
}

/// `7763`, `9R14`, `E5`, `i7`, `1185G7`, `v4`, `2.90GHz`, `2.5+`: at most eight characters, at most one letter before
/// the first digit, at most three after the last, one dot and [`MAX_DIGITS`] digits in a row.
fn is_model_number(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '+';
    let first = word.find(|c: char| c.is_ascii_digit());
    let last = word.rfind(|c: char| c.is_ascii_digit());
    match (first, last) {
        (Some(first), Some(last)) => {
            let longest = word
                .split(|c: char| !c.is_ascii_digit())
                .map(str::len)
                .max();
            word.len() <= 8
                && first <= 1
                && word.len() - last <= 4
                && word.chars().all(is_plain)
                && word.matches('.').count() <= 1
                && longest <= Some(MAX_DIGITS)
        }
        _ => false,
    }
}

/// The text in place of a file system that is not a known one.
const OTHER: &str = "other";

/// The type of a file system; `fuse` for all of FUSE, and `other` for one that is not known.
pub fn file_system(name: &str) -> String {
    // Windows writes `NTFS`.
    let name = name.split('.').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    match FILE_SYSTEMS.contains(&&*name) {
        true => name,
        false => OTHER.to_owned(),
    }
}

/// Whether all file systems of this name are of one type.
pub fn is_one_file_system(name: &str) -> bool {
    !matches!(name, OTHER | "fuse" | "fuseblk")
}

/// The operating system and the architecture of `Linux x86_64`; [`WINE`] if the text of the kernel names it.
pub fn system(text: &str, kernel: &str) -> (String, String) {
    let (system, architecture) = text.split_once(' ').unwrap_or((text, ""));
    let system = if kernel.contains(WINE) { WINE } else { system };
    (known(&SYSTEMS, system), known(&ARCHITECTURES, architecture))
}

fn known(words: &[&str], word: &str) -> String {
    match words.contains(&word) {
        true => word.to_owned(),
        false => UNKNOWN.to_owned(),
    }
}

/// The numbers at the start of a version: `6.18.44` of `6.18.44-generic`. What follows may name who built it.
pub fn numbers(version: &str) -> String {
    let parts = version.split('.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit());
        (&part[..end.unwrap_or(part.len())], end.is_none())
    });
    let mut numbers: Vec<&str> = Vec::new();
    for (digits, is_whole) in parts.take(4) {
        if digits.is_empty() || digits.len() > 8 {
            break;
        }
        numbers.push(digits);
        if !is_whole {
            break;
        }
    }
    match numbers.is_empty() {
        true => UNKNOWN.to_owned(),
        false => numbers.join("."),
    }
}

/// The month of a time in RFC 3339: `2026-11`.
pub fn month(time: &str) -> String {
    let is_month = |text: &str| {
        let bytes = text.as_bytes();
        (0..7).all(|index| match index {
            4 => bytes[index] == b'-',
            _ => bytes[index].is_ascii_digit(),
        })
    };
    match time.get(..7) {
        Some(text) if is_month(text) => text.to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_usual_processors_are_kept() {
        for (model, expected) in [
            ("AMD EPYC", "AMD EPYC"),
            ("AMD EPYC 9R14", "AMD EPYC 9R14"),
            (
                "AMD EPYC 7763 64-Core Processor",
                "AMD EPYC 7763 64-Core Processor",
            ),
            ("AMD EPYC-Milan Processor", "AMD EPYC-Milan Processor"),
            (
                "AMD Ryzen Threadripper PRO 5995WX 64-Cores",
                "AMD Ryzen Threadripper PRO 5995WX 64-Cores",
            ),
            (
                "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
                "Intel Xeon Platinum 8375C CPU 2.90GHz",
            ),
            (
                "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz",
                "Intel Xeon CPU E5-2680 v4 2.40GHz",
            ),
            (
                "12th Gen Intel(R) Core(TM) i7-12700K",
                "12th Gen Intel Core i7-12700K",
            ),
            (
                "Intel(R) Core(TM) i7-1185G7 @ 3.00GHz",
                "Intel Core i7-1185G7 3.00GHz",
            ),
            (
                "Intel Xeon Processor (Skylake, IBRS, no TSX)",
                "Intel Xeon Processor Skylake IBRS no TSX",
            ),
            (
                "QEMU Virtual CPU version 2.5+",
                "QEMU Virtual CPU version 2.5+",
            ),
            ("Apple M2 Max", "Apple M2 Max"),
        ] {
            assert_eq!(processor(model), expected);
            // The text of an extract passes the filter unchanged.
            assert_eq!(processor(expected), expected);
        }
    }

    #[test]
    fn other_words_are_left_out() {
        for (model, expected) in [
            ("AMD EPYC of Example Ltd, rack 7", "AMD EPYC 7"),
            ("Intel Xeon db-master-7", "Intel Xeon"),
            ("xeonhost.example.org", UNKNOWN),
            ("10.0.0.17", UNKNOWN),
            ("AMD 10.20.30.40", "AMD"),
            ("AMD 00:1a:2b:3c:4d:5e", "AMD"),
            ("AMD 00-1A-2B-3C-4D-5E", "AMD"),
            ("AMD 10.0.0.7", "AMD"),
            ("AMD EPYC SN123456", "AMD EPYC"),
            ("AMD 12345678", "AMD"),
            ("AMD db01", "AMD"),
            ("AMD EPYC S3CR3TSERIAL0001", "AMD EPYC"),
            ("", UNKNOWN),
            ("invented processor 7", UNKNOWN),
        ] {
            assert_eq!(processor(model), expected, "{model}");
        }
        assert_eq!(file_system("NTFS"), "ntfs");
        assert_eq!(system("Windows x86_64", "10.0.19045 (Wine 8.0)").0, "Wine");
        assert_eq!(file_system("fuse.secretfs"), "fuse");
        assert_eq!(file_system("secretfs"), "other");
        assert_eq!(
            system("Linux x86_64", "6.1.0"),
            ("Linux".to_owned(), "x86_64".to_owned())
        );
        assert_eq!(
            system("Secret host", ""),
            (UNKNOWN.to_owned(), UNKNOWN.to_owned())
        );
        assert_eq!(numbers("6.18.44-acme-prod #1 SMP builder@host"), "6.18.44");
        assert_eq!(numbers("6.1.0"), "6.1.0");
        assert_eq!(numbers("acme"), UNKNOWN);
        assert_eq!(month("2026-11-24T14:27:23Z"), "2026-11");
        assert_eq!(month("yesterday at home"), UNKNOWN);
    }
}
