//! New ids: never the same one twice in a process, and none that can be guessed from another.
//!
//! Short random ids would meet again after some tens of thousands. So each kind counts, and the count is turned
//! into an id by a secret permutation: a Feistel network over the id's own bits, keyed once per process.

use std::sync::atomic::{AtomicU64, Ordering};

use deskhand_contract::id::{DisplayId, ElementId, Entropy, SurfaceId};
use sha2::{Digest as _, Sha256};

/// Where new ids come from. It lasts for 2^30 elements and 2^40 of each other kind.
pub(crate) struct Identities {
    key: [u8; 32],
    surfaces: AtomicU64,
    elements: AtomicU64,
    displays: AtomicU64,
}

impl Identities {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut key = [0; 32];
        entropy.fill(&mut key);
        Self { key, surfaces: AtomicU64::new(0), elements: AtomicU64::new(0), displays: AtomicU64::new(0) }
    }

    pub(crate) fn surface(&self) -> SurfaceId {
        SurfaceId::mint(&self.next(&self.surfaces, Kind { tag: b's', half: 20 }))
    }

    pub(crate) fn element(&self) -> ElementId {
        ElementId::mint(&self.next(&self.elements, Kind { tag: b'e', half: 15 }))
    }

    pub(crate) fn display(&self) -> DisplayId {
        DisplayId::mint(&self.next(&self.displays, Kind { tag: b'd', half: 20 }))
    }

    fn next(&self, count: &AtomicU64, kind: Kind) -> Digits {
        Digits(permuted(&self.key, kind, count.fetch_add(1, Ordering::Relaxed)))
    }
}

/// A kind of id: its letter, and half the bits of its characters.
#[derive(Clone, Copy)]
struct Kind {
    tag: u8,
    half: u32,
}

/// Rounds of the network. Four make it a strong permutation; two more cost nothing.
const ROUNDS: u8 = 6;

/// The place of `count` among all numbers of `2 * half` bits.
fn permuted(key: &[u8; 32], kind: Kind, count: u64) -> u64 {
    let mask = (1_u64 << kind.half) - 1;
    let (mut left, mut right) = ((count >> kind.half) & mask, count & mask);
    for round in 0..ROUNDS {
        let mut hash = Sha256::new();
        hash.update(key);
        hash.update([kind.tag, round]);
        hash.update(right.to_le_bytes());
        let digest = hash.finalize();
        let mixed = u64::from(u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]));
        (left, right) = (right, (left ^ mixed) & mask);
    }
    (left << kind.half) | right
}

/// A number as the bytes from which an id takes its characters: five bits each.
struct Digits(u64);

impl Entropy for Digits {
    fn fill(&self, bytes: &mut [u8]) {
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = (self.0.checked_shr(5 * place as u32).unwrap_or(0) & 31) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_comes_twice() {
        let identities = Identities::new(&deskhand_contract::id::SystemEntropy);
        let elements: HashSet<_> = (0..200_000).map(|_| identities.element()).collect();
        assert_eq!(elements.len(), 200_000);
        let surfaces: HashSet<_> = (0..1_000).map(|_| identities.surface()).collect();
        assert_eq!(surfaces.len(), 1_000);
    }

    #[test]
    fn the_network_is_a_permutation_and_its_key_matters() {
        let small = Kind { tag: b'x', half: 5 };
        let all: HashSet<u64> = (0..1_024).map(|count| permuted(&[7; 32], small, count)).collect();
        assert_eq!(all.len(), 1_024);
        assert!(all.iter().all(|place| *place < 1_024));
        let other: Vec<u64> = (0..64).map(|count| permuted(&[8; 32], small, count)).collect();
        assert_ne!(other, (0..64).map(|count| permuted(&[7; 32], small, count)).collect::<Vec<_>>());
    }
}
