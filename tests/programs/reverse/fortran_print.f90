! boomerang: checks: a Fortran region has the host print its numbers, arrays and a sum
! boomerang: sources: fortran_print_host.f90
! boomerang: stdout: ^ *the sum of 1 to 10 is 55$
! boomerang: stdout: ^ *squares: 1 4 9 16 25$
! boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
program fortran_print
  implicit none
  !$omp requires reverse_offload
  interface
    subroutine print_sum(n, total)
      integer, intent(in) :: n
      integer, intent(inout) :: total
    end subroutine
    subroutine print_squares(squares)
      integer, intent(inout) :: squares(5)
    end subroutine
  end interface
  integer :: i, total, result, squares(5)

  result = 0
  !$omp target map(from: result, squares) private(i, total)
    total = 0
    do i = 1, 10
      total = total + i
    end do
    !$omp target device(ancestor: 1) map(always, tofrom: total)
      call print_sum(10, total)
    !$omp end target
    result = total
    do i = 1, 5
      squares(i) = i * i
    end do
    !$omp target device(ancestor: 1) map(always, tofrom: squares)
      call print_squares(squares)
    !$omp end target
  !$omp end target

  if (result /= -55) then
    print *, 'the region got', result
    error stop 1
  end if
  if (any(squares /= [-1, -4, -9, -16, -25])) then
    print *, 'squares came back as', squares
    error stop 2
  end if
end program
