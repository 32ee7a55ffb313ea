//! Splits a command in one string into words.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitError {
    Empty,
    /// The character is an unclosed quotation mark, or a backslash at the end.
    Unclosed(char),
    /// The unquoted character has a meaning only for a shell.
    ForShells(char),
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitError::Empty => f.write_str("it is empty: expected a program and its arguments"),
            SplitError::Unclosed('\\') => f.write_str("it ends with a backslash"),
            SplitError::Unclosed(mark) => write!(f, "a quotation mark {mark} has no partner"),
            SplitError::ForShells(found) => write!(
                f,
                "it is run without a shell, and has a {found} for one: add --shell sh, or quote the {found}"
            ),
        }
    }
}

impl std::error::Error for SplitError {}

/// Splits at unquoted blanks, as a shell does. Between `'`, all characters are literal. Between `"`, a backslash
/// escapes only `"`, `\`, `$` and a backquote.
pub fn split(command: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        None => return Err(SplitError::Unclosed(c)),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => match characters.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => quoted.push(escaped),
                            Some(other) => quoted.extend(['\\', other]),
                            None => return Err(SplitError::Unclosed(c)),
                        },
                        Some(special @ ('$' | '`')) if c == '"' => {
                            return Err(SplitError::ForShells(special));
                        }
                        Some(other) => quoted.push(other),
                    }
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or(SplitError::Unclosed(c))?;
                word.get_or_insert_default().push(escaped);
            }
            '|' | '>' | '<' | ';' | '&' | '`' | '$' | '(' | ')' => {
                return Err(SplitError::ForShells(c));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() { Err(SplitError::Empty) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell_and_what_only_a_shell_can_do_is_refused() {
        for (command, words) in [
            ("a b  c\td\n", vec!["a", "b", "c", "d"]),
            (
                r#"a 'b  |c' "d \" \n" e\ f"#,
                vec!["a", "b  |c", r#"d " \n"#, "e f"],
            ),
            (r#"a'b'"c" '' """#, vec!["abc", "", ""]),
        ] {
            assert_eq!(split(command).unwrap(), words, "{command}");
        }
        for command in [
            "a | b",
            "a > b",
            "a; b",
            "a&&b",
            "a $HOME",
            "a \"$HOME\"",
            "(a)",
        ] {
            let refused = split(command).unwrap_err();
            assert!(matches!(refused, SplitError::ForShells(found) if command.contains(found)));
        }
        assert_eq!(split("a 'b"), Err(SplitError::Unclosed('\'')));
        assert_eq!(split("a \\"), Err(SplitError::Unclosed('\\')));
        assert_eq!(split(" \n"), Err(SplitError::Empty));
    }
}
