//! Options of the form `--name value`, and flags. Errors are usage errors.

use std::path::PathBuf;

/// The words after the command; each option takes its own out.
#[derive(Debug)]
pub struct Args {
    words: Vec<String>,
}

impl Args {
    /// All words; their meaning is determined later.
    pub fn new(words: impl Iterator<Item = String>) -> Self {
        let words = words.collect();
        Args { words }
    }

    /// A flag, such as `--experiments`.
    pub fn flag(&mut self, name: &str) -> bool {
        let place = self.words.iter().position(|word| word == name);
        place.map(|place| self.words.remove(place)).is_some()
    }

    /// A number of at least 1.
    pub fn count(&mut self, name: &str, default: usize) -> Result<usize, String> {
        match self.value(name)? {
            None => Ok(default),
            Some(text) => text
                .parse()
                .ok()
                .filter(|&count| count > 0)
                .ok_or_else(|| format!("{name} takes a number of at least 1, not '{text}'")),
        }
    }

    /// Any number.
    pub fn number(&mut self, name: &str, default: u64) -> Result<u64, String> {
        match self.value(name)? {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("{name} takes a number, not '{text}'")),
        }
    }

    /// One of these words; the first if none is given.
    pub fn one_of(&mut self, name: &str, words: &[&'static str]) -> Result<&'static str, String> {
        let Some(text) = self.value(name)? else {
            return Ok(words[0]);
        };
        let found = words.iter().find(|word| **word == text);
        found
            .copied()
            .ok_or_else(|| format!("{name} is {}, not '{text}'", words.join(" or ")))
    }

    /// A word, if it is given.
    pub fn word(&mut self, name: &str) -> Result<Option<String>, String> {
        self.value(name)
    }

    /// The words of an option that may be given several times.
    pub fn words(&mut self, name: &str) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        while let Some(word) = self.value(name)? {
            words.push(word);
        }
        Ok(words)
    }

    /// A path.
    pub fn path(&mut self, name: &str, default: &str) -> Result<PathBuf, String> {
        let value = self.value(name)?;
        Ok(value.unwrap_or_else(|| default.to_owned()).into())
    }

    /// All words that are left, for another program.
    pub fn rest(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }

    /// Refuses words that are left.
    pub fn finish(self) -> Result<(), String> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(format!("unexpected '{word}': see cargo xtask help")),
        }
    }

    fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(place) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.words.remove(place);
        if place == self.words.len() {
            return Err(format!("{name} takes a value"));
        }
        Ok(Some(self.words.remove(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let mut args = args("--rounds 7 --only tidy --runs 3");
        assert_eq!(args.count("--rounds", 20), Ok(7));
        assert_eq!(args.count("--runs", 10), Ok(3));
        assert_eq!(args.count("--runs", 10), Ok(10));
        assert_eq!(args.word("--only"), Ok(Some("tidy".to_owned())));
        assert_eq!(args.word("--only"), Ok(None));
        assert_eq!(args.number("--seed", 1), Ok(1));
        assert_eq!(args.one_of("--backend", &["plain"]), Ok("plain"));
        assert_eq!(args.finish(), Ok(()));
        let mut args = self::args("--quick pipe");
        assert_eq!(args.rest(), ["--quick", "pipe"]);
        assert_eq!(args.finish(), Ok(()));
    }

    #[test]
    fn flags_and_paths_are_taken_once() {
        let mut args = args("--directory /tmp --experiments");
        assert_eq!(args.path("--directory", "."), Ok("/tmp".into()));
        assert_eq!(args.path("--directory", "."), Ok(".".into()));
        assert!(args.flag("--experiments"));
        assert!(!args.flag("--experiments"));
        assert_eq!(args.finish(), Ok(()));
    }

    #[test]
    fn an_option_may_be_given_several_times() {
        let mut args = args("--python a pipe --python b");
        assert_eq!(
            args.words("--python"),
            Ok(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(args.words("--python"), Ok(Vec::new()));
        assert_eq!(args.rest(), ["pipe"]);
        assert!(self::args("--python").words("--python").is_err());
    }

    #[test]
    fn wrong_values_and_surplus_words_are_refused() {
        assert!(args("--rounds").count("--rounds", 1).is_err());
        assert!(args("--rounds 0").count("--rounds", 1).is_err());
        assert!(args("--rounds many").count("--rounds", 1).is_err());
        assert!(args("--seed -1").number("--seed", 1).is_err());
        assert!(
            args("--backend warp")
                .one_of("--backend", &["plain"])
                .is_err()
        );
        assert!(args("surplus").finish().is_err());
    }
}
