//! Tests of flags that the kernel takes or refuses.

use super::*;
use crate::testing::{any_limits, any_script, any_sizes, check_against_model, failure};
use proptest::prelude::*;

const REFUSALS: [i32; 3] = [codes::EOPNOTSUPP, codes::EINVAL, codes::ENOSYS];

proptest! {
    #[test]
    fn any_list_arrives_whole_with_the_flag_or_is_synced(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), refusal in 0..4_usize,
    ) {
        let refusal = REFUSALS.get(refusal).copied();
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback);
            let mut refusals = 0;
            let result = send_all_referenced(segments, cursor, limits, || Ok(()), |slices| {
                calls.call(|flags| match refusal {
                    Some(code) if !flags.is_empty() => {
                        refusals += 1;
                        Err(failure(code))
                    }
                    _ => {
                        assert_eq!(flags.is_empty(), refusal.is_some());
                        sink.call(slices)
                    }
                })
            });
            let transferred = result.as_ref().map_or_else(TransferError::transferred, |n| *n);
            let mut is_synced = false;
            let result = calls.finish(result, || { is_synced = true; Ok(()) });
            assert_eq!(is_synced, refusal.is_some() && transferred > 0);
            // Only a success without the flag proves the refusal. Errors may come before this success.
            assert!(refusal.is_some() || refusals == 0);
            result
        });
    }
}

/// Returns the results of calls, and whether each call had the flag. `with` and `without` are the answers of the
/// kernel.
fn answered(
    on_refusal: OnRefusal,
    [with, without]: [Result<usize, i32>; 2],
) -> (Vec<Result<usize, Option<i32>>>, Vec<bool>) {
    let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, on_refusal);
    let mut made = Vec::new();
    let mut call = |_| {
        let result = calls.call(|flags| {
            made.push(!flags.is_empty());
            if flags.is_empty() { without } else { with }.map_err(failure)
        });
        result.map_err(|error| error.raw_os_error())
    };
    (Vec::from([0, 1].map(&mut call)), made)
}

#[test]
fn a_refusal_is_met_once_a_transfer_and_an_invalid_argument_may_have_another_cause() {
    use OnRefusal::{Error, Fallback};
    let refused = codes::EOPNOTSUPP;
    for (on_refusal, answers, results, made) in [
        (Fallback, [Ok(1), Ok(2)], [Ok(1); 2], &[true, true][..]),
        (
            Fallback,
            [Err(refused), Ok(2)],
            [Ok(2); 2],
            &[true, false, false],
        ),
        // The call without the flag fails for another reason. After `EINVAL`, this reason may be the cause of both
        // errors.
        (
            Fallback,
            [Err(refused), Err(codes::EIO)],
            [Err(Some(codes::EIO)); 2],
            &[true, false, false],
        ),
        (
            Fallback,
            [Err(codes::EINVAL), Err(codes::EIO)],
            [Err(Some(codes::EIO)); 2],
            &[true, false, true, false],
        ),
        (
            Fallback,
            [Err(codes::EINVAL); 2],
            [Err(Some(codes::EINVAL)); 2],
            &[true, false, true, false],
        ),
        (
            Error,
            [Err(codes::EINVAL), Ok(2)],
            [Err(Some(codes::EINVAL)); 2],
            &[true, true],
        ),
        // The error comes from this crate, not from the kernel.
        (Error, [Err(refused), Ok(2)], [Err(None); 2], &[true, true]),
    ] {
        let (answered, calls) = answered(on_refusal, answers);
        assert_eq!(
            (&answered[..], &calls[..]),
            (&results[..], made),
            "{answers:?}"
        );
    }
    assert_eq!(super::refused().kind(), io::ErrorKind::Unsupported);
}

#[test]
fn a_failed_sync_is_an_error_with_the_bytes_that_were_written() {
    let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback);
    calls.is_refused = true;
    let error = calls
        .finish(Ok(7), || Err(failure(codes::EIO)))
        .unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(codes::EIO));
    assert_eq!(error.transferred(), 7);
}
