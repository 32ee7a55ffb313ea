//! Stable sorts whose machine code is shared by all types.
//!
//! The sorts of the standard library are compiled once for each type and each key, and take some 5 KiB each time. The program
//! sorts some fifty kinds of short lists.

use std::cmp::Ordering;

pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// The items in their order, each once.
pub fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = items.into_iter().collect();
    sort(&mut all);
    all.dedup();
    all
}

/// Sorts a list by a key. The key is made anew for each comparison.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() < 2 {
        return;
    }
    let mut from = sorted_indices(items.len(), &|a, b| compare(&items[a], &items[b]));
    // Follows each cycle of the permutation, and marks the places that have their item.
    for start in 0..items.len() {
        let mut place = start;
        while from[place] != start {
            let next = from[place];
            items.swap(place, next);
            from[place] = place;
            place = next;
        }
        from[place] = place;
    }
}

/// This function is not generic, so only this sort is compiled.
#[inline(never)]
fn sorted_indices(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..count).collect();
    indices.sort_by(|&a, &b| compare(a, b));
    indices
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_is_sorted_as_by_the_standard_library(
            mut items in prop::collection::vec((0_u8..8, any::<u16>()), 0..60),
        ) {
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_by_key(&mut items, |item| item.0);
            prop_assert_eq!(&items, &expected);
            expected.sort();
            sort(&mut items);
            prop_assert_eq!(items, expected);
        }
    }
}
