//! Names by number.

use std::collections::HashMap;

/// Names by number; 0 is none, and any beyond those that are told apart.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
}

/// So many names of programs and call sites of a log are told apart.
const NAMES_MAX: usize = 4096;

impl Names {
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if name.is_empty() || self.names.len() >= NAMES_MAX {
            return 0;
        }
        self.names.push(String::from_utf8_lossy(name).into_owned());
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_vec(), number);
        number
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The number of a name that came before; 0 for any other.
    pub(crate) fn known(&self, name: &[u8]) -> u32 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn name(&self, number: u32) -> Option<String> {
        self.names.get((number as usize).checked_sub(1)?).cloned()
    }
}
