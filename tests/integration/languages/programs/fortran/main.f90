program main
  implicit none
  character(len=16) :: mode
  integer(8) :: total, number
  integer :: status
  integer, volatile :: turns = 0
  type block
    integer(1), allocatable :: bytes(:)
  end type
  type(block), allocatable :: held(:)
  read (*, '(a)') mode
  select case (trim(mode))
  case ('hello')
    print '(a)', 'héllo, wörld ✓'
  case ('sum')
    total = 0
    do
      read (*, *, iostat=status) number
      if (status /= 0) exit
      total = total + number
    end do
    print '(i0)', total
  case ('crash')
    error stop 'crashed'
  case ('loop')
    do
      turns = mod(turns + 1, 1000)
    end do
  case ('deep')
    print '(i0)', depth(100000_8)
  case ('hog')
    allocate (held(100000))
    do number = 1, 100000
      allocate (held(number)%bytes(1000000))
      held(number)%bytes = 1_1
    end do
  end select
contains
  recursive function depth(n) result(found)
    integer(8), intent(in) :: n
    integer(8) :: found
    if (n == 0) then
      found = 0
    else
      found = 1 + depth(n - 1)
    end if
  end function
end program
