//! What the ranks sum: small whole numbers, so that a sum of float32 is exact in whatever order it is made, and every element of
//! it is known beforehand.

/// The greatest number of an element. With it the sum of 65,536 ranks is below 2^24, up to which float32 holds every whole number.
const GREATEST: u64 = 255;

/// The element of a rank at an index: random for whoever looks, the same whenever it is asked for.
pub fn element(rank: usize, index: usize) -> f32 {
    // SplitMix64's finalizer (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): every bit of rank and
    // index changes half of the bits that come out, so that swapped ranks, shifted segments and doubled slices all show.
    let mut bits = ((rank as u64) << 40 ^ index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) & GREATEST) as f32
}

/// The sum of all ranks at an index.
pub fn sum(world: usize, index: usize) -> f32 {
    (0..world).map(|rank| element(rank, index)).sum()
}
