//! Conversion of text to ASCII.

/// Converts text to ASCII: symbols become similar characters, any other character `?`. If one character
/// becomes several, spaces after it are removed, so that columns stay aligned.
pub fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    let mut surplus = 0;
    for c in text.chars() {
        match c {
            '\n' => {
                surplus = 0;
                ascii.push('\n');
            }
            ' ' if surplus > 0 && ascii.ends_with(' ') => surplus -= 1,
            c if c.is_ascii() => ascii.push(c),
            c => {
                let symbol = symbol(c);
                surplus += symbol.len() - 1;
                ascii.push_str(symbol);
            }
        }
    }
    ascii
}

fn symbol(c: char) -> &'static str {
    match c {
        '×' => "x",
        '÷' => "/",
        '±' => "+-",
        'µ' | 'μ' => "u",
        '−' | '–' | '—' => "-",
        '…' => "...",
        '→' => "->",
        '≤' => "<=",
        '≥' => ">=",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '\u{a0}' => " ",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_a_look_in_ascii() {
        for (text, expected) in [
            (
                "2 × 16 B  1.38 µs  tie (±2 %)",
                "2 x 16 B  1.38 us  tie (+-2 %)",
            ),
            ("time ÷ floor − 1", "time / floor - 1"),
            ("a → b; …", "a -> b; ..."),
            ("Prüfstand", "Pr?fstand"),
            ("\x1b[1m±\x1b[0m", "\x1b[1m+-\x1b[0m"),
        ] {
            assert_eq!(to_ascii(text), expected);
        }
    }

    #[test]
    fn columns_stay_below_each_other() {
        let table = "9 × 16 B + …    367 ns\n9 × 16 B        367 ns\n";
        let ascii = "9 x 16 B + ...  367 ns\n9 x 16 B        367 ns\n";
        assert_eq!(to_ascii(table), ascii);
        // A blank between two words stays.
        assert_eq!(to_ascii("± a  b"), "+- a b");
    }
}
