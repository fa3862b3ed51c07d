//! The types that a lane of a register can hold.

/// A value of a lane.
pub(crate) trait Lane: Copy + 'static {
    /// How a register stores it.
    type Slot: Copy + Default + 'static;
    /// From the register; bits beyond the type are ignored.
    fn get(slot: Self::Slot) -> Self;
    /// Into the register, extended by sign where the type has one.
    fn put(self) -> Self::Slot;
}

macro_rules! lane {
    ($($ty:ty: $slot:ty, $get:expr, $put:expr;)*) => {$(
        impl Lane for $ty {
            type Slot = $slot;
            #[inline(always)]
            fn get(slot: $slot) -> $ty { $get(slot) }
            #[inline(always)]
            fn put(self) -> $slot { $put(self) }
        }
    )*};
}

lane! {
    u8: u32, |s| s as u8, |v| v as u32;
    i8: u32, |s| s as i8, |v| v as i32 as u32;
    u16: u32, |s| s as u16, |v| v as u32;
    i16: u32, |s| s as i16, |v| v as i32 as u32;
    u32: u32, |s| s, |v| v;
    i32: u32, |s| s as i32, |v| v as u32;
    u64: u64, |s| s, |v| v;
    i64: u64, |s| s as i64, |v| v as u64;
    f32: u32, f32::from_bits, f32::to_bits;
    f64: u64, f64::from_bits, f64::to_bits;
}
