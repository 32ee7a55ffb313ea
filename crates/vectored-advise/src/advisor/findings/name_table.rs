//! Names by number.

use std::collections::HashMap;

/// Names by number. The number 0 stands for no name, and for every name after the first `NAMES_MAX`.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
}

const NAMES_MAX: usize = 4096;

impl NameTable {
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

    pub(crate) fn name(&self, number: u32) -> Option<String> {
        self.names.get((number as usize).checked_sub(1)?).cloned()
    }
}
