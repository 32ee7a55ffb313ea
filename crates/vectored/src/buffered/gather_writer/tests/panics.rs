//! After a panic of the inner writer, no byte is written twice.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::{Model, Shared, Step, any_steps, any_writer, make};
use crate::testing::{Answer, any_script};

proptest! {
    #[test]
    fn after_a_panic_nothing_is_written_twice(
        steps in any_steps(), script in any_script(), kind in any_writer(), panics_at in 1..10_usize
    ) {
        let mut inner = Shared::new(&script);
        inner.panics_at = Some(panics_at);
        let mut writer = make(&inner, kind);
        let mut model = Model::new();
        // `write_all_vectored` makes several writes. After a panic, the number of bytes that the earlier writes
        // accepted is unknown.
        for step in steps.iter().filter(|step| !matches!(step, Step::AllVectored(_))) {
            let before = model.accepted.clone();
            if catch_unwind(AssertUnwindSafe(|| model.run(step, &mut writer))).is_err() {
                prop_assert_eq!(inner.calls(), panics_at, "an unexpected panic");
                // The writer does not know how many bytes the inner writer wrote before the panic.
                let known = *inner.known.borrow();
                let kept = before.get(known..).unwrap_or_default();
                prop_assert_eq!(writer.buffer(), kept);
                let taken = inner.taken();
                drop(writer);
                prop_assert_eq!(inner.taken(), taken, "bytes were written by the drop");
                return Ok(());
            }
        }
        // The writer is not dropped, because the call of the drop may panic.
        let _ = writer.into_parts();
    }

}

#[test]
fn parts_after_a_panic_are_what_was_not_reported_as_written() {
    for gathers in [false, true] {
        let mut inner = Shared::new(&[Answer::Take(3)]);
        inner.panics_at = Some(1);
        let mut writer = make(&inner, (gathers, 10));
        writer.write_all(b"staged").unwrap();
        catch_unwind(AssertUnwindSafe(|| writer.flush())).unwrap_err();
        let (_, staged) = writer.into_parts();
        assert_eq!(staged, b"staged");
        assert_eq!(inner.taken(), b"sta");
    }
}
