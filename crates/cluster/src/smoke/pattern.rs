//! What the ranks sum: small whole numbers, so that a sum of float32 is exact in whatever order it is made,
//! and every element of it is known beforehand. The greatest is 255: the sum of 65,536 ranks is below 2^24,
//! up to which float32 holds every whole number.

/// Elements that come of one random number, a byte each.
const BATCH: usize = 8;
/// Elements whose sum is made at once to be compared: 16 KiB, which stay in the processor's first cache.
const COMPARE_BLOCK: usize = 4 << 10;

/// The numbers of a rank at eight indices: random for whoever looks, the same whenever they are asked for.
fn numbers(rank: usize, eight: usize) -> [u8; BATCH] {
    // SplitMix64's finalizer (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014):
    // every bit of rank and index changes half of the bits that come out, so that swapped ranks, shifted
    // segments and doubled slices all show.
    let mut bits = ((rank as u64) << 40 ^ eight as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)).to_le_bytes()
}

/// Adds the elements of a rank, from an index on.
pub fn add(rank: usize, start: usize, to: &mut [f32]) {
    // Up to where eight begin.
    let before = (start.next_multiple_of(BATCH) - start).min(to.len());
    let (first, rest) = to.split_at_mut(before);
    for (value, number) in first.iter_mut().zip(&numbers(rank, start / BATCH)[start % BATCH..]) {
        *value += f32::from(*number);
    }
    for (eight, values) in ((start + before) / BATCH..).zip(rest.chunks_mut(BATCH)) {
        for (value, number) in values.iter_mut().zip(numbers(rank, eight)) {
            *value += f32::from(number);
        }
    }
}

/// Elements, from an index on, that are not the sum of all ranks: how many, and the index of the first.
pub fn wrong(world: usize, start: usize, values: &[f32]) -> (usize, Option<usize>) {
    let mut sums = [0.0; COMPARE_BLOCK];
    let (mut count, mut first) = (0, None);
    for (piece, values) in values.chunks(COMPARE_BLOCK).enumerate() {
        let (start, sums) = (start + piece * COMPARE_BLOCK, &mut sums[..values.len()]);
        sums.fill(0.0);
        (0..world).for_each(|rank| add(rank, start, sums));
        #[expect(clippy::float_cmp, reason = "whole numbers: the sum is exact or wrong")]
        let differs = |(value, sum): (&f32, &f32)| value != sum;
        let here = values.iter().zip(&*sums).filter(|pair| differs(*pair)).count();
        if here > 0 {
            first = first.or_else(|| values.iter().zip(&*sums).position(differs).map(|at| start + at));
        }
        count += here;
    }
    (count, first)
}

#[cfg(test)]
mod tests {
    use super::{COMPARE_BLOCK, add, wrong};

    #[test]
    fn elements_do_not_depend_on_where_one_begins() {
        let mut all = vec![0.0; 1000];
        add(3, 0, &mut all);
        assert!(all.iter().all(|value| (0.0..=255.0).contains(value)));
        // Of 1,000 random bytes hardly any number is missing, and none is usual.
        let most = (0..256).map(|number| all.iter().filter(|value| **value == number as f32).count()).max();
        assert!(most < Some(20), "{most:?}");
        for start in [0, 1, 7, 8, 9, 500, 993, 999] {
            for length in [0, 1, 3, 7, 8, 17, 1000 - start] {
                let mut some = vec![0.0; length.min(1000 - start)];
                add(3, start, &mut some);
                assert_eq!(some, all[start..start + some.len()], "{length} from {start}");
            }
        }
        let mut other = vec![0.0; 1000];
        add(4, 0, &mut other);
        let same = other.iter().zip(&all).filter(|(one, other)| one == other).count();
        assert!(same < 30, "{same}");
    }

    #[test]
    fn counts_wrong_elements_of_a_sum() {
        let length = COMPARE_BLOCK + 1001;
        let mut sum = vec![0.0; length];
        (0..5).for_each(|rank| add(rank, 3, &mut sum));
        assert_eq!(wrong(5, 3, &sum), (0, None));
        assert_eq!(wrong(5, 3, &[]), (0, None));
        assert!(wrong(5, 4, &sum).0 > length * 9 / 10 && wrong(6, 3, &sum).0 > length * 9 / 10);
        sum[COMPARE_BLOCK + 7] += 1.0;
        sum[length - 1] = f32::NAN;
        assert_eq!(wrong(5, 3, &sum), (2, Some(3 + COMPARE_BLOCK + 7)));
    }
}
