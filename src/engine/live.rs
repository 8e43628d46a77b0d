//! One real container, to see whether the GPU arrives inside.
