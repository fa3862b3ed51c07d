! The host's part of fortran_print.f90.
subroutine print_sum(n, total)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: total
  print '(a, i0, a, i0)', 'the sum of 1 to ', n, ' is ', total
  total = -total
end subroutine

subroutine print_squares(squares)
  implicit none
  integer, intent(inout) :: squares(5)
  print '(a, 5(1x, i0))', 'squares:', squares
  squares = -squares
end subroutine
