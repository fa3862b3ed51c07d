! boomerang: checks: Fortran allocatables, sections and pointers are mapped, changed and reduced
program fortran_allocatables
  implicit none
  integer, parameter :: n = 500
  integer, allocatable :: a(:), matrix(:, :)
  real(8), allocatable :: d(:)
  real(8) :: total
  integer, pointer :: ptr(:)
  integer, target :: pointee(20)
  integer :: i, j
  logical :: was_allocated

  allocate (a(n), d(0:n - 1), matrix(10, 20))
  a = [(i, i=1, n)]
  d = 0.5d0
  matrix = 0
  pointee = 7
  ptr => pointee(1:20:1)

  total = 0
  !$omp target teams distribute parallel do map(tofrom: a, d, total) reduction(+: total)
  do i = 1, n
    a(i) = 2 * a(i)
    d(i - 1) = d(i - 1) + i
    total = total + d(i - 1)
  end do
  if (any(a /= [(2 * i, i=1, n)])) error stop 'a(:) is wrong'
  if (abs(total - (n * (n + 1) / 2 + 0.5d0 * n)) > 1d-9) error stop 'the sum is wrong'

  !$omp target map(tofrom: matrix) map(from: was_allocated) private(i, j)
  was_allocated = allocated(matrix) .and. size(matrix, 1) == 10 .and. ubound(matrix, 2) == 20
  do j = 1, 20
    do i = 1, 10
      matrix(i, j) = 100 * i + j
    end do
  end do
  !$omp end target
  if (.not. was_allocated) error stop 'the matrix has no shape on the device'
  do j = 1, 20
    do i = 1, 10
      if (matrix(i, j) /= 100 * i + j) error stop 'matrix is wrong'
    end do
  end do

  !$omp target map(tofrom: a(11:20)) private(i)
  do i = 11, 20
    a(i) = -a(i)
  end do
  !$omp end target
  if (any(a(11:20) >= 0) .or. any(a(1:10) <= 0) .or. any(a(21:) <= 0)) error stop 'the section is wrong'

  !$omp target map(tofrom: ptr) private(i)
  do i = 1, 20
    ptr(i) = ptr(i) + i
  end do
  !$omp end target
  if (any(pointee /= [(7 + i, i=1, 20)])) error stop 'the pointer target is wrong'
end program
