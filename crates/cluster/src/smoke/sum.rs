//! The sum of an all-reduce.

use wide::f32x8;

/// Adds element by element, eight at a time: the release build optimizes this crate for size, which leaves
/// loops as they are.
pub(super) fn add(own: &mut [f32], came: &[f32]) {
    let (own, own_rest) = own.as_chunks_mut::<8>();
    let (came, came_rest) = came.as_chunks::<8>();
    for (own, came) in own.iter_mut().zip(came) {
        *own = (f32x8::new(*own) + f32x8::new(*came)).to_array();
    }
    for (own, came) in own_rest.iter_mut().zip(came_rest) {
        *own += *came;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_added_once() {
        for length in [0, 1, 7, 8, 9, 31] {
            let mut own: Vec<f32> = (0..length).map(|index| index as f32).collect();
            let came: Vec<f32> = (0..length).map(|index| 0.25 * index as f32).collect();
            add(&mut own, &came);
            assert!(own.iter().enumerate().all(|(index, sum)| *sum == 1.25 * index as f32), "{length}");
        }
    }
}
