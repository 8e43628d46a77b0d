//! Rules about makefiles.

pub(crate) mod recipe_dollar_single;
pub(crate) mod recipe_without_tab;
pub(crate) mod shell_call_expanded_by_make;
