! boomerang: checks: Fortran module variables and procedures declared for the device work there, with intrinsics and complex numbers
module device_things
  implicit none
  integer :: calls = 0
  real(8) :: coefficients(3) = [1d0, 2d0, 3d0]
  !$omp declare target (calls, coefficients)
contains
  real(8) function polynomial(x)
    !$omp declare target
    real(8), intent(in) :: x
    polynomial = coefficients(1) + x * (coefficients(2) + x * coefficients(3))
    calls = calls + 1
  end function
  recursive integer function factorial(n) result(f)
    !$omp declare target
    integer, intent(in) :: n
    if (n <= 1) then
      f = 1
    else
      f = n * factorial(n - 1)
    end if
  end function
end module

program fortran_functions
  use device_things
  implicit none
  real(8) :: value, root
  complex(8) :: z
  integer :: f, bits, most, numbers(6) = [3, 1, 4, 1, 5, 9]
  character(len=5) :: text = 'hello'

  !$omp target map(from: value, root, z, f, bits, most) map(to: numbers) map(tofrom: text)
  value = polynomial(2d0)
  f = factorial(6)
  root = sqrt(abs(-2.25d0)) + mod(7, 4)
  z = (1d0, 2d0) * (3d0, -1d0)
  bits = iand(ishft(1, 4) + 3, not(1)) + popcnt(255)
  most = maxval(numbers) + sum(numbers) + count(numbers == 1)
  text(1:1) = 'H'
  !$omp end target
  !$omp target update from(calls)

  if (value /= 17d0) error stop 'polynomial(2)'
  if (calls /= 1) error stop 'the module variable'
  if (f /= 720) error stop 'factorial(6)'
  if (root /= 4.5d0) error stop 'intrinsics on reals'
  if (z /= (5d0, 5d0)) error stop 'complex product'
  if (bits /= 26) error stop 'intrinsics on bits'
  if (most /= 9 + 23 + 2) error stop 'intrinsics on arrays'
  if (text /= 'Hello') error stop 'text'
end program
