! boomerang: checks: Fortran's compute regions, data regions and queues do what C's do
! boomerang: flags: -fno-openmp -fopenacc
! boomerang: env: ACC_DEVICE_TYPE=nvidia
program main
  use openacc
  implicit none
  integer, parameter :: n = 1000
  integer :: i
  real, allocatable :: a(:), b(:)
  real :: total
  allocate (a(n), b(n))
  a = [(i, i = 1, n)]
  !$acc data copyin(a) copyout(b)
  !$acc parallel loop async(1)
  do i = 1, n
    b(i) = 2 * a(i)
  end do
  !$acc wait(1)
  total = 0
  !$acc parallel loop reduction(+:total)
  do i = 1, n
    total = total + b(i)
  end do
  !$acc end data
  if (total /= real(n) * (n + 1)) error stop 'wrong total'
  do i = 1, n
    if (b(i) /= 2 * i) error stop 'wrong element'
  end do
  if (acc_is_present(a)) error stop 'data is left after its region'
end program
