//! Lists of mixed sizes in which one size is varied.

use serde::{Deserialize, Serialize};

/// A mix of sizes in which the segments of one run have a variable size, for example a header of 150 bytes
/// followed by a body of any size. In JSON the runs are `[count, bytes]`, and `null` stands for the variable
/// size: `[[1, 150], [1, null]]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<(usize, Option<usize>)>")]
pub struct SweptMix(Vec<(usize, Option<usize>)>);

impl TryFrom<Vec<(usize, Option<usize>)>> for SweptMix {
    type Error = String;

    fn try_from(runs: Vec<(usize, Option<usize>)>) -> Result<Self, String> {
        let variable = runs.iter().filter(|(_, bytes)| bytes.is_none()).count();
        if variable != 1 {
            return Err(format!(
                "a swept mix has one run of a variable size (null), and this one has {variable}"
            ));
        }
        match runs.iter().find(|run| run.0 == 0 || run.1 == Some(0)) {
            Some((0, _)) => Err("a swept mix has a run of 0 segments".to_owned()),
            Some(_) => Err("a swept mix has segments of 0 bytes".to_owned()),
            None => Ok(SweptMix(runs)),
        }
    }
}

impl SweptMix {
    pub fn runs(&self) -> &[(usize, Option<usize>)] {
        &self.0
    }

    pub fn segment_count(&self) -> usize {
        let counts = self.0.iter().map(|run| run.0);
        counts.fold(0, usize::saturating_add)
    }

    /// The list in which the variable size is `bytes`, as runs of `(count, bytes)`. Neighbouring runs of
    /// the same size are not joined.
    pub fn at(&self, bytes: usize) -> Vec<(usize, usize)> {
        let runs = self.0.iter();
        runs.map(|&(count, fixed)| (count, fixed.unwrap_or(bytes)))
            .collect()
    }

    /// The variable size in `runs`, if they are a list of this mix.
    pub fn bytes_of(&self, runs: &[(usize, usize)]) -> Option<usize> {
        let swept = self.0.iter().position(|run| run.1.is_none())?;
        let &(_, bytes) = runs.get(swept)?;
        (self.at(bytes) == runs).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mix_has_one_variable_size() {
        let refused =
            |runs: &[(usize, Option<usize>)]| SweptMix::try_from(runs.to_vec()).unwrap_err();
        assert!(refused(&[]).contains("this one has 0"));
        assert!(refused(&[(1, Some(150))]).contains("this one has 0"));
        assert!(refused(&[(1, None), (2, None)]).contains("this one has 2"));
        assert!(refused(&[(0, Some(150)), (1, None)]).contains("0 segments"));
        assert!(refused(&[(1, Some(0)), (1, None)]).contains("0 bytes"));
        let json = "[[1,150],[1,null]]";
        let mix: SweptMix = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&mix).unwrap(), json);
        assert!(serde_json::from_str::<SweptMix>("[[1,150]]").is_err());
    }

    proptest! {
        #[test]
        fn the_size_of_a_list_is_found_in_it(
            before in prop::collection::vec((1_usize..9, 1_usize..9), 0..4),
            count in 1_usize..9,
            after in prop::collection::vec((1_usize..9, 1_usize..9), 0..4),
            bytes in 1_usize..9,
            other in 1_usize..9,
        ) {
            let fixed = |runs: &[(usize, usize)]| -> Vec<(usize, Option<usize>)> {
                runs.iter().map(|&(count, bytes)| (count, Some(bytes))).collect()
            };
            let runs = [fixed(&before), vec![(count, None)], fixed(&after)].concat();
            let mix = SweptMix::try_from(runs).unwrap();
            let list = mix.at(bytes);
            let expected = [before.clone(), vec![(count, bytes)], after.clone()].concat();
            prop_assert_eq!(&list, &expected);
            prop_assert_eq!(mix.bytes_of(&list), Some(bytes));
            prop_assert_eq!(mix.segment_count(), list.iter().map(|run| run.0).sum::<usize>());
            // A list with another fixed size, or another number of runs, is not of this mix.
            for index in (0..list.len()).filter(|&index| index != before.len()) {
                let mut changed = list.clone();
                changed[index].1 = 9 + other;
                prop_assert_eq!(mix.bytes_of(&changed), None);
            }
            prop_assert_eq!(mix.bytes_of(&list[..list.len() - 1]), None);
        }
    }
}
