//! The lists of segments that the calls of a sample move.

/// One list, which every call moves, or several lists of the same sizes, which
/// the calls move in turn.
#[derive(Debug)]
pub struct Lists<'a> {
    segments: Vec<&'a [u8]>,
    per_list: usize,
}

impl<'a> Lists<'a> {
    pub fn one(segments: Vec<&'a [u8]>) -> Self {
        let per_list = segments.len();
        Lists::several(segments, per_list)
    }

    /// Lists of `per_list` segments each, one after the other in `segments`.
    pub fn several(segments: Vec<&'a [u8]>, per_list: usize) -> Self {
        Lists { segments, per_list }
    }

    /// The list of the first call. The other lists have the same sizes.
    pub fn first(&self) -> &[&'a [u8]] {
        &self.segments[..self.per_list]
    }

    pub fn segments(&self) -> &[&'a [u8]] {
        &self.segments
    }

    pub fn in_turn(&self) -> Turns<'_, &'a [u8]> {
        self.turns_of(&self.segments)
    }

    /// Cycles through values made from [`Lists::segments`], one value for each segment, in step with the lists.
    pub fn turns_of<'s, T>(&self, made: &'s [T]) -> Turns<'s, T> {
        Turns {
            all: made,
            per_list: self.per_list,
            next: 0,
        }
    }
}

/// Cycles through the lists without end.
///
/// Every technique advances the cycle within the timed region, at the same cost: one addition and one comparison.
#[derive(Debug)]
pub struct Turns<'s, T> {
    all: &'s [T],
    per_list: usize,
    next: usize,
}

impl<'s, T> Turns<'s, T> {
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> &'s [T] {
        let from = self.next;
        let end = from + self.per_list;
        self.next = if end == self.all.len() { 0 } else { end };
        &self.all[from..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_in_turn_and_begin_again() {
        let segments: [&[u8]; 4] = [b"a", b"bc", b"d", b"ef"];
        let lists = Lists::several(segments.to_vec(), 2);
        let mut turns = lists.in_turn();
        assert_eq!(lists.first(), &segments[..2]);
        for _ in 0..3 {
            assert_eq!(turns.next(), &segments[..2]);
            assert_eq!(turns.next(), &segments[2..]);
        }
        let one = Lists::one(segments.to_vec());
        let mut turns = one.in_turn();
        assert_eq!(turns.next(), turns.next());
    }
}
