! boomerang: checks: Fortran derived types are mapped whole and by allocatable components
! boomerang: gcc: 16
program fortran_derived_types
  implicit none
  type point
    real :: x, y
    integer :: tag
  end type
  type holder
    integer, allocatable :: list(:)
    real :: weight
  end type
  type(point) :: p
  type(holder) :: h
  integer :: i, s

  p = point(1.0, 2.0, 3)
  h%list = [1, 2, 3, 4, 5]
  h%weight = 2.0
  s = 0
  !$omp target map(tofrom: p, s) map(tofrom: h%list) map(to: h%weight) private(i)
  p%tag = p%tag + 1
  p%x = p%y * 10
  do i = 1, size(h%list)
    s = s + h%list(i)
    h%list(i) = int(h%list(i) * h%weight)
  end do
  !$omp end target
  if (p%tag /= 4 .or. nint(p%x) /= 20) error stop 'the point is wrong'
  if (s /= 15 .or. any(h%list /= [2, 4, 6, 8, 10])) error stop 'the allocatable component is wrong'
end program
