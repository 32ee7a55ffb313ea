#![no_main]

use libfuzzer_sys::fuzz_target;
use vectored_lab::remote::{Action, ByteLimits, Session, Token};

const TOKEN: &str = "00112233445566778899aabbccddeeff";

const LIMITS: ByteLimits = ByteLimits {
    batch_bytes: 1 << 10,
    total_bytes: 1 << 12,
};

// Whatever a client sends, in whatever pieces: nothing is answered without the token, a batch is answered once it is
// whole, limits hold, and nothing follows the end. The actions do not depend on how the bytes are cut.
fuzz_target!(|data: &[u8]| {
    let Some(([size, with_token], rest)) = data.split_first_chunk() else {
        return;
    };
    let token: Token = TOKEN.parse().expect("32 digits");
    let whole = actions(token, *with_token & 1 == 1, &[rest]);
    let pieces: Vec<&[u8]> = rest.chunks(usize::from(*size) + 1).collect();
    let in_pieces = actions(token, *with_token & 1 == 1, &pieces);
    assert_eq!(whole, in_pieces);
});

fn actions(token: Token, with_token: bool, pieces: &[&[u8]]) -> Vec<Action> {
    let mut session = Session::new(token, LIMITS);
    let mut all = Vec::new();
    let hello = [
        &b"vectrcv1"[..],
        &[
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ],
    ]
    .concat();
    if with_token {
        assert_eq!(session.input(&hello), [Action::Admit]);
        all.extend(session.admit(true));
    }
    let mut is_closed = false;
    let mut bytes = 0;
    for piece in pieces {
        bytes += piece.len() as u64;
        for action in session.input(piece) {
            assert!(!is_closed);
            match &action {
                Action::Close(_) => is_closed = true,
                Action::Admit => {
                    // Only by the token itself.
                    assert!(!with_token && pieces.concat().starts_with(&hello));
                    return Vec::new();
                }
                Action::Reply(reply) => assert!(with_token && reply.len() == 16),
            }
            all.push(action);
        }
    }
    assert!(session.received().1 <= LIMITS.total_bytes.min(bytes));
    all
}
