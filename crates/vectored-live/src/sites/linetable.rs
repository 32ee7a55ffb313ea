//! The lines of a code object of CPython: `co_linetable` of 3.11 and later (`Objects/locations.md` in CPython).

/// The bit that marks the first byte of an entry.
const IS_FIRST: u8 = 128;

/// The line of a unit of code (2 bytes), counted from the begin of the code; `None` if the unit has no line.
pub(crate) fn line(table: &[u8], first_line: i64, unit: u64) -> Option<i64> {
    let (mut line, mut end, mut rest) = (first_line, 0, table);
    while let Some((&first, after)) = rest.split_first() {
        let more = after
            .iter()
            .position(|byte| byte & IS_FIRST != 0)
            .unwrap_or(after.len());
        let (own, next) = after.split_at(more);
        let kind = first >> 3 & 15;
        line += match kind {
            10..=12 => i64::from(kind) - 10,
            13 | 14 => signed(own),
            _ => 0,
        };
        end += u64::from(first & 7) + 1;
        if unit < end {
            return (kind != 15).then_some(line);
        }
        rest = next;
    }
    None
}

/// Reads a number in groups of 6 bits, the lowest group first. The lowest bit of the number is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let count = bytes
        .iter()
        .position(|byte| byte & 64 == 0)
        .map_or(bytes.len(), |last| last + 1);
    let value = bytes[..count.min(10)]
        .iter()
        .rev()
        .fold(0_i64, |value, byte| value << 6 | i64::from(byte & 63));
    if value & 1 == 1 { -(value >> 1) } else { value >> 1 }
}

#[cfg(test)]
mod tests {
    use super::line;

    /// For each function of a file: its first line, its table, and `co_lines()` of each unit.
    const PROGRAM: &str = "
import argparse
def show(code):
    lines = [None] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for unit in range(start // 2, end // 2):
            lines[unit] = line
    print(code.co_firstlineno, code.co_linetable.hex(), *lines)
    for constant in code.co_consts:
        if hasattr(constant, 'co_linetable'):
            show(constant)
show(compile(open(argparse.__file__).read(), 'x.py', 'exec'))
";

    #[test]
    fn lines_are_those_of_co_lines() {
        let mut python = std::process::Command::new("python3");
        let output = python.args(["-c", PROGRAM]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() > 50, "{text}");
        for code in text.lines() {
            let mut words = code.split(' ');
            let first = words.next().unwrap().parse().unwrap();
            let hex = words.next().unwrap().as_bytes().chunks(2);
            let table: Vec<u8> = hex
                .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
                .collect();
            for (unit, expected) in (0..).zip(words) {
                assert_eq!(
                    line(&table, first, unit),
                    expected.parse().ok(),
                    "{unit} of {code}"
                );
            }
        }
    }
}
