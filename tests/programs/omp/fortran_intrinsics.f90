! boomerang: checks: Fortran's intrinsic functions of all kinds give on the device what they give on the host
program fortran_intrinsics
  use iso_fortran_env
  implicit none
  integer(int64) :: device_integers(60), host_integers(60)
  real(real64) :: device_reals(60), host_reals(60)
  integer :: seed
  do seed = 1, 30, 7
    device_integers = 0
    device_reals = 0
    host_integers = 0
    host_reals = 0
    !$omp target map(tofrom: device_integers, device_reals)
    call compute (seed, device_integers, device_reals)
    !$omp end target
    call compute (seed, host_integers, host_reals)
    if (any (device_integers /= host_integers)) then
      print *, seed, findloc (device_integers /= host_integers, .true.)
      error stop "integers"
    end if
    if (any (abs (device_reals - host_reals) > 8 * epsilon (1d0) * abs (host_reals))) then
      print *, seed, device_reals - host_reals
      error stop "reals"
    end if
  end do
contains
  subroutine compute (seed, i, r)
    integer, intent(in) :: seed
    integer(int64), intent(inout) :: i(60)
    real(real64), intent(inout) :: r(60)
    integer(int8) :: b
    integer(int16) :: h
    integer(int32) :: w
    integer(int64) :: d
    real(real32) :: s
    real(real64) :: x, m(3, 3), v(3)
    complex(real64) :: z
    integer :: k
    !$omp declare target
    b = int (seed, int8)
    h = int (seed * 1000, int16)
    w = seed * 65537
    d = seed * 4294967297_int64
    s = seed * 0.37
    x = seed * 1.618d0
    z = cmplx (x, -s, real64)
    i(1) = shiftl (w, 5) + shiftr (d, 9) + shifta (-d, 7)
    i(2) = popcnt (d) + poppar (w) + leadz (h) + trailz (b)
    i(3) = ishftc (w, 7) + ishft (h, -3) + ibits (d, 3, 20)
    i(4) = ieor (w, 12345) + iand (d, 255_int64) + ior (int (h), 3) + not (w)
    i(5) = modulo (-w, 7) + mod (-d, 11_int64)
    i(6) = nint (x) + floor (-x) + ceiling (s) + int (s) + nint (-s, int64)
    i(7) = merge (1, 2, x > 10) + sign (5, -seed) + dim (seed, 3) + min (w, seed) + max (b, 3_int8)
    i(8) = exponent (x) + digits (s) + maxexponent (x)
    i(9) = index ("reverse offload", "off") + len_trim ("ab  ") + ichar (achar (65 + mod (seed, 20)))
    i(10) = ibset (0, mod (seed, 31)) + ibclr (-1, 4) + merge (1, 0, btest (w, 3))
    i(11) = maskl (5) + maskr (7) + dshiftl (w, seed, 3) + dshiftr (w, seed, 9)
    do k = 1, 3
      v(k) = x / k
    end do
    do k = 1, 3
      m(:, k) = v * k + seed
    end do
    i(12) = maxloc (v, 1) + minloc (abs (v - x / 2), 1) + count (v > 1)
    i(13) = merge (1, 0, any (v > 5)) + merge (2, 0, all (v > 0))
    r(1) = sin (x) + cos (x) + tan (x / 40)
    r(2) = atan2 (x, 3d0) + asin (x / 100) + acos (x / 100)
    r(3) = exp (x / 10) + log (x) + log10 (x) + sqrt (x)
    r(4) = sinh (x / 10) + cosh (x / 10) + tanh (x)
    r(5) = x ** 3 + x ** (-2) + x ** 0.3d0 + 2d0 ** seed
    r(6) = aint (x) + anint (x) + abs (-x) + fraction (x) + scale (x, 3) + set_exponent (x, 2)
    r(7) = nearest (x, 1d0) - x + spacing (x) + rrspacing (x)
    r(8) = erf (x / 50) + erfc (x / 50) + gamma (x / 20) + bessel_j0 (x / 10)
    r(9) = hypot (x, 3d0) + mod (x, 1.7d0) + modulo (-x, 1.7d0) + sign (2d0, -x)
    r(10) = sum (v) + product (v) + dot_product (v, v) + maxval (v) - minval (m)
    r(11) = sum (matmul (m, v)) + sum (transpose (m) * m)
    r(12) = real (z * z) + aimag (z / (1, 2)) + abs (z) + real (conjg (z))
    r(13) = real (sqrt (z)) + aimag (exp (z / 10)) + real (log (z))
    r(14) = norm2 (v) + sum (cshift (v, 1) * v) + sum (eoshift (v, 1))
    r(15) = transfer (d, x) * 0 + real (s, real64) + real (w, real32)
    r(16) = sum (reshape (m, [9]) * [(real (k, real64), k = 1, 9)]) + sum (pack (v, v > x / 2)) + sum (spread (v, 2, 2))
  end subroutine
end program
