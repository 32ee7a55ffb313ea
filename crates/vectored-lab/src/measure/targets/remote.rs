//! A TCP connection to `vectored receive`, usually on another machine.

use std::io;
use std::rc::Rc;

use crate::measure::targets::sink::{Batch, Mismatch, Sink};
use crate::platform::fd::BorrowedFd;
use crate::remote::link::{Link, Receipt};

/// The receiver reads the bytes and answers each batch with their checksum. All cells of a run share one
/// connection, since a receiver serves one client at a time.
pub(crate) struct RemoteSink {
    link: Rc<Link>,
}

impl RemoteSink {
    pub fn new(link: Rc<Link>) -> Self {
        RemoteSink { link }
    }
}

impl Sink for RemoteSink {
    fn fd(&self) -> BorrowedFd<'_> {
        self.link.fd()
    }

    fn begin(&mut self, batch: Batch) -> io::Result<()> {
        self.link.begin(batch.bytes())
    }

    fn finish(&mut self, batch: Batch, image: &[u8], _proof: bool) -> Result<(), Mismatch> {
        let Some(receipt) = self.link.receipt()? else {
            let bytes = batch.bytes();
            return Err(Mismatch::Bytes(format!(
                "fewer than the {bytes} bytes that were announced arrived"
            )));
        };
        let expected = Receipt::expected(image, batch.bytes());
        match receipt == expected {
            true => Ok(()),
            false => Err(Mismatch::Bytes(format!(
                "the checksum of {} received bytes is {:016x}, and that of {} sent bytes is {:016x}",
                receipt.bytes, receipt.checksum, expected.bytes, expected.checksum
            ))),
        }
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }
}
