//! Unwinds a stack by the tables that exceptions use. Programs need neither frame pointers nor debug information.

use std::rc::Rc;

use gimli::{CfaRule, RegisterRule, UnwindContext, X86_64};

use crate::record::Sample;
use crate::sites::modules::{Module, Program, Table};

/// The most frames of a stack that are read.
const FRAMES_MAX: usize = 24;

/// Registers that the tables know: the general registers and the instruction pointer.
const REGISTERS: usize = 17;

/// Registers that a function restores before it returns, besides `rbp` (6).
const KEPT: [usize; 5] = [3, 12, 13, 14, 15];

/// A frame: a call in a function of a module.
pub(crate) struct Frame {
    pub(crate) module: Rc<Module>,
    /// The end of the instruction that calls, as an address of the module. In the innermost frame, that instruction is the
    /// system call.
    pub(crate) end: u64,
    registers: [Option<u64>; REGISTERS],
}

impl Frame {
    /// A register that functions restore, by its number in instructions.
    pub(crate) fn kept(&self, register: u8) -> Option<u64> {
        match register.into() {
            5 => self.registers[6],
            number => self.registers[number].filter(|_| KEPT.contains(&number)),
        }
    }
}

/// The frames, the innermost first, as far as the tables and the copy of the stack reach. The second value tells whether all
/// addresses were inside modules.
pub(crate) fn frames(program: &Program, sample: &Sample) -> (Vec<Frame>, bool) {
    let mut registers = [None; REGISTERS];
    registers[usize::from(X86_64::RBP.0)] = Some(sample.bp);
    registers[usize::from(X86_64::RSP.0)] = Some(sample.sp);
    for (number, value) in KEPT.into_iter().zip(sample.kept) {
        registers[number] = Some(value);
    }
    let mut context = UnwindContext::new();
    let mut frames = Vec::new();
    let mut next = Some(sample.ip);
    while let Some(end) = next
        && frames.len() < FRAMES_MAX
    {
        let Some((module, address)) = program.find(end.wrapping_sub(1)) else {
            return (frames, false);
        };
        frames.push(Frame {
            module: Rc::clone(module),
            end: address + 1,
            registers,
        });
        next = module
            .table()
            .and_then(|table| step(table, address, &mut registers, &mut context, sample));
    }
    (frames, true)
}

/// Goes from a frame to the frame of its caller. Returns the address at which the caller continues.
fn step(
    table: &Table,
    address: u64,
    registers: &mut [Option<u64>; REGISTERS],
    context: &mut UnwindContext<usize>,
    sample: &Sample,
) -> Option<u64> {
    let entry = table
        .function(address)
        .filter(|entry| !entry.is_signal_trampoline())?;
    let row = entry
        .unwind_info_for_address(&table.section(), &table.bases, context, address)
        .ok()?;
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
        return None;
    };
    let before = *registers;
    let value = |register: gimli::Register| before.get(usize::from(register.0)).copied().flatten();
    let top = value(*register)?.checked_add_signed(*offset)?;
    let read = |address: u64| {
        let bytes = address.checked_sub(sample.sp)?;
        let word = sample.stack.get(usize::try_from(bytes / 8).ok()?)?;
        (bytes % 8 == 0).then_some(*word)
    };
    for (number, register) in (0..).zip(registers.iter_mut()) {
        *register = match row.register(gimli::Register(number)) {
            None | Some(RegisterRule::SameValue)
                if number == 6 || KEPT.contains(&number.into()) =>
            {
                *register
            }
            Some(RegisterRule::Offset(offset)) => top.checked_add_signed(offset).and_then(read),
            Some(RegisterRule::ValOffset(offset)) => top.checked_add_signed(offset),
            Some(RegisterRule::Register(other)) => value(other),
            _ => None,
        };
    }
    registers[usize::from(X86_64::RSP.0)] = Some(top);
    registers[usize::from(X86_64::RA.0)].filter(|&end| end != 0)
}
