//! Implements the trait for every type with `AsFd`.

use std::os::fd::AsFd;

use super::as_descriptor::AsDescriptor;
use super::as_descriptor::sealed::Sealed;
use super::borrowed::BorrowedDescriptor;

impl<T: AsFd + ?Sized> Sealed for T {}

impl<T: AsFd + ?Sized> AsDescriptor for T {
    #[inline(always)]
    fn as_descriptor(&self) -> BorrowedDescriptor<'_> {
        self.as_fd()
    }
}
